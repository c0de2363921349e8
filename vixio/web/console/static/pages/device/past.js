// Earlier conversations: read, saved, erased.

import { button, card, empty, field, loading, notice } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { saveJson } from "../../components/file.js";
import { time } from "../../components/time.js";
import { toast } from "../../components/toast.js";
import { turnElement } from "../../components/turn.js";
import { fetchApi, get, part, remove } from "../../lib/api.js";
import { watch } from "../../lib/feed.js";
import { dateTime } from "../../lib/format.js";
import { fill, h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { go } from "../../lib/router.js";
import { fromRecord } from "../../lib/turns.js";

const PAGE = 50;
const EXPORT_MS = 300_000;

/**
 * @param {HTMLElement} panel
 * @param {import("../device.js").DeviceContext} context
 * @param {AbortSignal} signal
 * @param {URLSearchParams} query `session` and `turn`: what to show first
 */
export async function past(panel, context, signal, query) {
  const list = h("div", { class: "stack" }, loading());
  const words = h("input", { type: "search", autocomplete: "off", maxLength: 128 });
  const moment = h("div");
  let offset = 0;
  let asked = 0; // of two answers, the one to the later question counts
  fill(
    panel,
    h("div", { class: "row spread" },
      h("form", { class: "row grow", role: "search", onsubmit: find },
        h("div", { class: "grow" }, field(t("device.past.search"), words)),
        button(t("search"), null, { icon: "search", type: "submit" })),
      h("div", { class: "row" },
        button(t("device.export"), saveAll, { icon: "download", small: true }),
        button(t("device.erase"), eraseAll, { icon: "trash", kind: "danger", small: true }))),
    moment,
    list,
  );
  const session = query.get("session");
  if (session) void showMoment(session, query.get("turn") ?? "");
  watch(signal, (event) => { if (event.type === "turn.ended" && event.device_id === context.device.id) follow(); }, follow);
  await read(true);

  /** Shows what is newer, unless somebody reads one of those that are shown. */
  function follow() {
    if (offset <= PAGE && !list.querySelector("details[open]")) void read(true);
  }

  /** @param {boolean} anew */
  async function read(anew) {
    if (anew) offset = 0;
    asked += 1;
    const mine = asked;
    try {
      const { conversations } = await get("/conversations", { device: context.device.id, limit: PAGE, offset }, signal);
      if (mine !== asked) return;
      if (anew) fill(list);
      list.querySelector(".more-button")?.remove();
      if (anew && !conversations.length) {
        return fill(list, empty(t("device.past.none")));
      }
      list.append(...conversations.map(element));
      offset += conversations.length;
      if (conversations.length === PAGE) {
        const more = button(t("device.past.more"), () => read(false), { small: true });
        more.classList.add("more-button");
        list.append(more);
      }
    } catch (error) {
      if (signal.aborted) return;
      fill(list, notice("bad", h("p", null, /** @type {Error} */ (error).message), button(t("retry"), () => read(true), { icon: "refresh" })));
    }
  }

  /** @param {any} each */
  function element(each) {
    const turns = h("div", { class: "turns-past" });
    /** @type {HTMLDetailsElement} */
    const folded = h(
      "details",
      {
        class: "card conversation",
        ontoggle: async () => {
          if (!folded.open || turns.firstChild) return;
          fill(turns, loading());
          try {
            const found = await get(`/conversations/${part(each.session_id)}`, {}, signal);
            fill(turns, ...found.turns.map((/** @type {any} */ record) => turnElement(fromRecord(record), context.device.id)));
          } catch (error) {
            if (!signal.aborted) fill(turns, notice("bad", /** @type {Error} */ (error).message));
          }
        },
      },
      h("summary", null, h("b", null, dateTime(each.began_at)), " · ", t("device.past.turns", { count: each.turns }), " · ", time(each.last_at)),
      h("div", { class: "row" }, button(t("device.erase.one"), () => eraseOne(each, folded), { icon: "trash", kind: "danger", small: true })),
      turns,
    );
    return folded;
  }

  /** @param {any} each @param {HTMLElement} folded */
  async function eraseOne(each, folded) {
    await confirmed({
      title: t("device.erase.one.title", { when: dateTime(each.began_at), name: context.name }),
      text: t("device.erase.text"),
      act: t("erase"),
      run: async () => {
        await remove(`${context.path}/turns`, { session: each.session_id });
        folded.remove();
      },
    });
  }

  async function eraseAll() {
    await confirmed({
      title: t("device.erase.title", { name: context.name }),
      text: t("device.erase.text"),
      act: t("erase"),
      run: async () => {
        const { turns } = await remove(`${context.path}/turns`);
        toast(t("device.erased", { count: turns }));
        await read(true);
      },
    });
  }

  /** @param {Event} event */
  function find(event) {
    event.preventDefault();
    go(["conversations"], { q: words.value.trim(), device: context.device.id });
  }

  /** Shows a conversation, and leads to one of its turns. @param {string} session @param {string} turn */
  async function showMoment(session, turn) {
    fill(moment, loading());
    try {
      const { turns } = await get(`/conversations/${part(session)}`, {}, signal);
      const shown = turns.map((/** @type {any} */ record) => turnElement(fromRecord(record), context.device.id));
      fill(moment, card(t("device.past.moment", { when: dateTime(turns[0].at) }), h("div", { class: "turns-past" }, ...shown)));
      const found = shown[turns.findIndex((/** @type {any} */ each) => String(each.turn) === turn)];
      found?.classList.add("moment");
      found?.scrollIntoView({ block: "center" });
    } catch (error) {
      if (!signal.aborted) fill(moment, notice("bad", /** @type {Error} */ (error).message));
    }
  }

  async function saveAll() {
    const answer = await fetchApi("GET", `${context.path}/turns`, { timeout: EXPORT_MS, signal });
    saveJson(context.name, await answer.blob());
  }
}
