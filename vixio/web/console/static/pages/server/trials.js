// A trial of the parts: each is used once, and a table says how long it took and what to do.

import { badge, button } from "../../components/controls.js";
import { post } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { duration } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { ownWords } from "../../lib/problems.js";

const TIMEOUT_MS = 100_000; // the server takes 90 s at most

/** In the order in which the server tries them. */
const PARTS = ["tts", "vad", "asr", "agent", "vision", "tools", "database"];

/** The buttons and the table. One trial runs at a time. */
export class Trials {
  #signal;
  #after;
  #offered = "";
  #buttons = h("div", { class: "row", role: "group", "aria-label": t("server.try") });
  #said = h("p", { class: "visually-hidden", role: "status" });
  #rows = h("tbody");
  #table = h(
    "div",
    { class: "scroll", hidden: true, tabIndex: 0, role: "region", "aria-label": t("server.tried") },
    h("table", { class: "tried" },
      h("thead", null, h("tr", null, ...["part", "name", "result", "first", "latency", "detail"].map((each) => h("th", { scope: "col" }, t(`server.tried.${each}`))))),
      this.#rows),
  );

  /** @param {AbortSignal} signal @param {() => void} after called when something was tried */
  constructor(signal, after) {
    this.#signal = signal;
    this.#after = after;
    this.element = h("div", { class: "stack" }, h("p", { class: "hint" }, t("server.try.hint")), this.#buttons, this.#said, this.#table);
  }

  /** Offers what there is. @param {string[]} kinds of the providers in use */
  offer(kinds) {
    const there = PARTS.filter((each) => each === "tools" || each === "database" || kinds.includes(each));
    if (there.join() === this.#offered) return;
    this.#offered = there.join();
    fill(
      this.#buttons,
      button(t("server.try.all"), () => this.#run(null, there), { kind: "primary", icon: "play" }),
      ...there.map((each) => button(t(`server.kind.${each}`), () => this.#run(each, [each]))),
    );
  }

  /** @param {string | null} part @param {string[]} expected */
  async #run(part, expected) {
    this.#lock(true);
    this.#table.hidden = false;
    for (const each of expected) this.#put(each, [waiting(each)]);
    try {
      const { parts } = await post("/server/check", { part }, { signal: this.#signal, timeout: TIMEOUT_MS });
      for (const each of expected) {
        this.#put(each, parts.filter((/** @type {any} */ one) => kindOf(one.part) === each).map(result));
      }
      const others = parts.filter((/** @type {any} */ one) => !PARTS.includes(kindOf(one.part)));
      this.#put("other", others.map(result));
      const bad = parts.filter((/** @type {any} */ one) => !one.ok).length;
      this.#said.textContent = t("server.tried.count", { count: parts.length, bad });
    } catch (error) {
      for (const each of expected) this.#put(each, []);
      throw error;
    } finally {
      this.#lock(false);
      this.#table.hidden = !this.#rows.childElementCount;
      if (!this.#signal.aborted) this.#after();
    }
  }

  /** @param {boolean} locked */
  #lock(locked) {
    for (const each of this.#buttons.querySelectorAll("button")) {
      if (each.getAttribute("aria-busy") !== "true") each.disabled = locked;
    }
  }

  /** Replaces the rows of a part, in the order of the parts. @param {string} part @param {HTMLElement[]} rows */
  #put(part, rows) {
    const old = [...this.#rows.children].filter((each) => /** @type {HTMLElement} */ (each).dataset.kind === part);
    const place = PARTS.indexOf(part) < 0 ? PARTS.length : PARTS.indexOf(part);
    const next = [...this.#rows.children].find((each) => PARTS.indexOf(/** @type {HTMLElement} */ (each).dataset.kind ?? "") > place) ?? null;
    for (const row of rows) {
      row.dataset.kind = part;
      this.#rows.insertBefore(row, old[0] ?? next);
    }
    for (const each of old) each.remove();
  }
}

/** `tts[1]` is a `tts`, `tools.house` one of the `tools`. @param {string} part */
const kindOf = (part) => part.split(/[.[]/, 1)[0];

/** @param {string} part */
function waiting(part) {
  return h("tr", null, h("th", { scope: "row" }, t(`server.kind.${part}`)), h("td", { colspan: 5, class: "muted detail" }, t("server.tried.waiting")));
}

/** @param {any} tried */
function result(tried) {
  return h(
    "tr",
    { "data-part": tried.part, "data-ok": String(tried.ok) },
    h("th", { scope: "row", class: "mono" }, tried.part),
    h("td", { class: "name" }, tried.name),
    h("td", null, badge(t(tried.ok ? "server.tried.good" : "server.tried.bad"), tried.ok ? "good" : "bad")),
    h("td", { class: "number" }, tried.first_ms === null ? "–" : duration(tried.first_ms)),
    h("td", { class: "number latency" }, tried.ms === null ? "–" : duration(tried.ms)),
    h("td", { class: "detail" }, tried.ok ? tried.detail : ownWords(tried.detail)),
  );
}
