// Personal tokens: those that are there, a new one that is shown once, and their end.

import { badge, button, empty, field, notice } from "../../components/controls.js";
import { copyButton } from "../../components/copy.js";
import { confirmed, openDialog } from "../../components/dialog.js";
import { time } from "../../components/time.js";
import { toast } from "../../components/toast.js";
import { get, part, post, remove } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { dateTime } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { actorWords } from "../../lib/names.js";
import { reading } from "./reading.js";

const SCOPES = [
  "devices:read", "devices:write", "control", "user-tools", "conversations:read", "conversations:write",
  "profiles", "reminders", "firmware", "admin",
];

/**
 * @param {HTMLElement} place @param {AbortSignal} signal
 * @returns {() => Promise<void>} reads them again
 */
export function tokens(place, signal) {
  const made = h("div"); // the new token stays shown when the list is drawn anew
  const list = h("div", { class: "stack" });
  fill(place, h("p", { class: "hint" }, t("server.tokens.hint")), h("div", null, button(t("server.tokens.create"), create, { icon: "plus", kind: "primary" })), made, list);
  const read = () => reading(list, signal, () => get("/tokens", {}, signal), (found) => draw(found.tokens));
  void read();
  return read;

  /** @param {any[]} found */
  function draw(found) {
    if (!found.length) return fill(list, empty(t("server.tokens.none")));
    const valid = found.filter((each) => each.state === "valid");
    const over = found.filter((each) => each.state !== "valid");
    const open = Boolean(list.querySelector("details[open]"));
    fill(
      list,
      valid.length ? h("ul", { class: "entries" }, ...valid.map(entry)) : null,
      over.length
        ? h("details", { open }, h("summary", null, t("server.tokens.over", { count: over.length })), h("ul", { class: "entries" }, ...over.map(entry)))
        : null,
    );
  }

  /** @param {any} token */
  function entry(token) {
    const valid = token.state === "valid";
    return h("li", { class: "entry", "data-token": token.id },
      h("div", { class: "grow" },
        h("p", { class: "row" }, h("b", null, token.name), valid ? null : badge(t(`server.tokens.${token.state}`), "bad")),
        h("p", { class: "row" }, ...token.scopes.map((/** @type {string} */ each) => badge(each, each === "admin" ? "warn" : ""))),
        h("p", { class: "small muted" },
          t("server.tokens.made", { by: actorWords(token.created_by) }), " ", time(token.created_at), " · ",
          t("server.used"), " ", time(token.used_at ?? 0), " · ",
          token.expires_at ? t("server.until", { when: dateTime(token.expires_at) }) : t("server.tokens.forever"))),
      valid ? button(t("server.tokens.revoke"), () => revoke(token), { kind: "danger", small: true }) : null);
  }

  async function create() {
    const name = h("input", { type: "text", required: true, maxLength: 64, autocomplete: "off" });
    const days = h("input", { type: "number", min: "1", max: "3650", inputmode: "numeric" });
    const boxes = SCOPES.map((each) => h("input", { type: "checkbox", value: each }));
    const scopes = h(
      "fieldset",
      { class: "scopes" },
      h("legend", null, t("server.tokens.scopes")),
      ...boxes.map((box) => h("label", { class: "check" }, box, h("span", null, h("code", null, box.value), h("br"), h("span", { class: "hint" }, t(`scope.${box.value}`))))),
    );
    await openDialog(
      {
        title: t("server.tokens.create"),
        act: t("server.tokens.create.act"),
        run: async () => {
          const chosen = boxes.filter((each) => each.checked).map((each) => each.value);
          if (!chosen.length) throw new Error(t("server.tokens.no-scope"));
          show(await post("/tokens", { name: name.value.trim(), scopes: chosen, days: days.value ? Number(days.value) : null }));
          await read();
        },
      },
      field(t("server.tokens.name"), name, { hint: t("server.tokens.name.hint") }),
      scopes,
      field(t("server.tokens.days"), days, { hint: t("server.tokens.days.hint") }),
    );
  }

  /** @param {any} token */
  function show(token) {
    const words = h("code", { class: "secret" }, token.token);
    fill(made, notice(
      "good",
      h("p", null, t("server.tokens.once", { name: token.name })),
      words,
      h("div", { class: "row" }, copyButton(() => token.token), button(t("server.tokens.done"), () => fill(made))),
    ));
  }

  /** @param {any} token */
  function revoke(token) {
    return confirmed({
      title: t("server.tokens.revoke.title", { name: token.name }),
      text: t("server.tokens.revoke.text"),
      act: t("server.tokens.revoke"),
      run: async () => {
        await remove(`/tokens/${part(token.id)}`);
        toast(t("server.tokens.revoked", { name: token.name }));
        await read();
      },
    });
  }
}
