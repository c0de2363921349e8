// What the assistant is to say first, and what became of it.

import { badge, button, card, empty, loading } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { time } from "../../components/time.js";
import { toast } from "../../components/toast.js";
import { get, remove } from "../../lib/api.js";
import { Devices } from "../../lib/devices.js";
import { fill, h } from "../../lib/dom.js";
import { dateTime, near } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { actorWords, deviceName } from "../../lib/names.js";
import { ownWords } from "../../lib/problems.js";
import { href } from "../../lib/router.js";
import { aboutReminders, called, deliveryBadge, ruleWords } from "./delivery.js";
import { follow, has, Keyed, searchField } from "./parts.js";
import { addReminder } from "./reminder-form.js";

const WAITING = 500;
const PAST = 50;

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export function reminders(panel, signal) {
  const devices = new Devices(signal);
  /** @type {{waiting: any[], past: any[], zone: string, more: boolean} | null} */
  let found = null;
  let pastLimit = PAST;
  const search = searchField(t("reminders.search"), draw);
  const waiting = h("div", null, loading());
  const past = h("div", null, loading());
  const lists = [waiting, past].map(() => h("ul", { class: "lines" }));
  const keyed = lists.map((list) => new Keyed(list));
  const more = button(t("memory.more"), () => { pastLimit = Math.min(pastLimit + 4 * PAST, 450); return again(); }, { small: true });
  fill(
    panel,
    h("div", { class: "memory-head" }, search.element,
      button(t("reminders.add"), () => addReminder(devices, found?.zone ?? "", again), { kind: "primary", icon: "plus" })),
    card(t("reminders.waiting"), waiting),
    card(t("reminders.past"), past, more),
  );
  more.hidden = true;
  const again = follow({ signal, place: waiting, read, concerns: aboutReminders });
  devices.addEventListener("all", draw);
  devices.addEventListener("changed", draw);

  async function read() {
    const [next, over] = await Promise.all([
      get("/reminders", { limit: WAITING }, signal),
      get("/reminders", { past: true, limit: pastLimit + 1 }, signal),
    ]);
    const shown = over.reminders.slice(0, pastLimit);
    found = { waiting: next.reminders, past: shown, zone: next.zone, more: over.reminders.length > pastLimit };
    draw();
  }

  function draw() {
    if (!found) return;
    show(0, waiting, found.waiting, t("reminders.none"), waitingItem);
    show(1, past, found.past, t("reminders.past.none"), pastItem);
    more.hidden = !found.more || pastLimit >= 450;
  }

  /** @param {number} which @param {HTMLElement} place @param {any[]} all @param {string} nothing @param {(each: any) => Element} make */
  function show(which, place, all, nothing, make) {
    const words = search.control.value;
    const chosen = all.filter((each) =>
      has(words, each.text, each.device_id, devices.all.get(each.device_id)?.name, t(`reminders.kind.${each.kind}`), t(`delivery.${each.state}`)));
    if (!chosen.length) return fill(place, empty(all.length ? t("memory.no-match") : nothing));
    keyed[which].show(chosen, (each) => each.id, (each) => JSON.stringify([each, deviceName(devices.all, each.device_id), devices.all.get(each.device_id)?.online]), make);
    if (lists[which].parentElement !== place) fill(place, lists[which]);
  }

  /** @param {any} each @param {...import("../../lib/dom.js").Child} details */
  function head(each, ...details) {
    return h("div", { class: "line-main" },
      h("p", null, badge(t(`reminders.kind.${each.kind}`)), " ", each.text ? h("b", null, each.text) : null),
      h("p", { class: "small muted facts-line" },
        h("a", { href: href(["device", each.device_id]) }, deviceName(devices.all, each.device_id)), ...details));
  }

  /** @param {any} each */
  function waitingItem(each) {
    const online = devices.all.get(each.device_id)?.online ?? each.online;
    return h("li", { class: "line" },
      head(each,
        h("span", null, dateTime(each.due_at)), h("span", null, time(each.due_at)),
        each.rule ? h("span", null, t("reminders.repeats", { rule: ruleWords(each) })) : null,
        each.created_by ? h("span", null, t("reminders.by", { who: actorWords(each.created_by, devices.all) })) : null,
        each.shown_at ? h("span", null, t("reminders.shown", { when: near(each.shown_at) })) : null,
        !online && each.due_at < Date.now() ? h("span", null, t("reminders.offline")) : null),
      h("div", { class: "line-more" },
        deliveryBadge(each),
        button(t("reminders.cancel.short", { name: called(each) }), () => cancel(each), { icon: "trash", iconOnly: true, disabled: each.state === "speaking" })));
  }

  /** @param {any} each */
  function pastItem(each) {
    return h("li", { class: "line" },
      head(each,
        h("span", null, dateTime(each.ended_at ?? each.due_at)),
        each.heard && each.heard !== each.text ? h("span", null, t("reminders.heard", { text: each.heard })) : null,
        each.shown_at && !each.heard ? h("span", null, t("reminders.shown.only", { when: near(each.shown_at) })) : null,
        each.reason ? h("span", null, reasonWords(each.reason)) : null),
      h("div", { class: "line-more" }, deliveryBadge(each)));
  }

  /** Why it was not said. @param {string} reason */
  function reasonWords(reason) {
    const by = /^cancelled by (.+)$/.exec(reason)?.[1];
    return by ? t("reminders.cancelled.by", { who: actorWords(by, devices.all) }) : ownWords(reason);
  }

  /** @param {any} each */
  async function cancel(each) {
    const device = deviceName(devices.all, each.device_id);
    const name = called(each);
    await confirmed({
      title: t("reminders.cancel.title", { name }),
      text: each.rule ? t("reminders.cancel.series", { device, rule: ruleWords(each) }) : t("reminders.cancel.text", { device }),
      act: t("reminders.cancel"),
      run: async () => {
        await remove(`/reminders/${each.id}`);
        toast(t("reminders.cancelled", { name }));
        await again();
      },
    });
  }
}
