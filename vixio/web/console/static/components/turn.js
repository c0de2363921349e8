// One turn of a conversation: who said what, where the time went, tools, models, errors.

import { clock, duration, number } from "../lib/format.js";
import { fill, h } from "../lib/dom.js";
import { has, t } from "../lib/i18n.js";
import { stagesOf } from "../lib/turns.js";
import "../words/turn.js";
import { stageBar } from "./bar.js";
import { badge, button } from "./controls.js";
import { icon } from "./icon.js";
import { soundButtons } from "./sound.js";
import { teach } from "./teach.js";

/** @typedef {import("../lib/turns.js").Turn} Turn */

/** `<vx-turn>`: call `show(turn)` whenever the turn has changed. */
export class TurnElement extends HTMLElement {
  #heard = h("p", { class: "bubble user" });
  #said = h("p", { class: "bubble assistant" });
  #tools = h("div", { class: "tools" });
  #errors = h("div", { class: "errors" });
  #foot = h("div", { class: "turn-foot" });
  #drawn = "";
  /** @type {Turn | null} as it was drawn last */
  #turn = null;
  /** One for the whole turn: what it plays can be stopped, whatever the turn goes on to do. */
  #sound = /** @type {HTMLElement | undefined} */ (undefined);
  /** The device whose turn it is: what it has misheard can be corrected. */
  device = "";

  connectedCallback() {
    if (!this.firstChild) this.append(this.#heard, this.#tools, this.#said, this.#errors, this.#foot);
  }

  /** @param {Turn} turn */
  show(turn) {
    const now = JSON.stringify(turn);
    if (now === this.#drawn) return;
    this.#drawn = now;
    this.#turn = turn;
    this.dataset.key = turn.key;
    this.classList.toggle("running", !turn.over);
    this.#heard.hidden = !turn.heard && turn.outcome !== "not_understood";
    this.#heard.classList.toggle("partial", turn.partial);
    fill(
      this.#heard,
      h("span", { class: "visually-hidden" }, t("turn.user")),
      turn.heard || h("i", null, turn.guess ? t("turn.perhaps", { text: turn.guess }) : t("turn.not-understood")),
      turn.partial ? h("span", { class: "muted", "aria-hidden": "true" }, " …") : null,
      turn.sound ? (this.#sound ??= soundButtons(turn, () => this.#silence())) : null,
    );
    this.#said.hidden = !turn.sentences.length && !turn.cut;
    fill(
      this.#said,
      h("span", { class: "visually-hidden" }, t("turn.assistant")),
      ...turn.sentences.map((each, at) => h("span", { class: [each.done ? "" : "saying", each.filler ? "muted" : ""].join(" ") }, at ? " " : "", each.text)),
      turn.cut ? [" ", h("del", { title: t("turn.cut") }, turn.cut)] : null,
      turn.interrupted ? [" ", badge(t("turn.interrupted"), "warn")] : null,
    );
    this.#showTools(turn);
    fill(this.#errors, ...turn.errors.map((each) => h("p", { class: "turn-error" }, icon("warn"), h("span", null, each, " ", advice(each)))));
    this.#showFoot(turn);
  }

  /** The sound is erased. */
  #silence() {
    if (!this.#turn) return;
    this.#turn.sound = 0;
    this.show(this.#turn);
  }

  /** @param {Turn} turn */
  #showTools(turn) {
    const open = new Set([...this.#tools.querySelectorAll("details[open]")].map((each) => /** @type {HTMLElement} */ (each).dataset.id));
    fill(
      this.#tools,
      ...turn.tools.map((call) =>
        h(
          "details",
          { class: "tool", open: open.has(call.id), "data-id": call.id },
          h(
            "summary",
            null,
            icon("tool"), h("code", null, call.name),
            callBadge(call),
          ),
          h("dl", null,
            h("dt", null, t("turn.arguments")), h("dd", null, h("pre", null, pretty(call.arguments))),
            h("dt", null, t("turn.answer")), h("dd", null, h("pre", null, pretty(call.output)))),
        ),
      ),
    );
  }

  /** @param {Turn} turn */
  #showFoot(turn) {
    const stages = stagesOf(turn);
    const models = modelWords(turn.models);
    const said = turn.heard ? ["answered"] : ["answered", "not_understood"]; // by the bubble
    const cut = turn.interrupted && turn.outcome !== SHOWN; // the bubble says so
    const odd = turn.over && !said.includes(turn.outcome) && !cut && turn.outcome;
    const misheard = this.device && turn.over && (turn.heard || turn.outcome === "not_understood");
    fill(
      this.#foot,
      stages.length ? stageBar(stages) : null,
      h("p", { class: "small muted" },
        [clock(turn.at), ...models].join(" · "),
        odd ? [" ", badge(words(turn.outcome), /fail/.test(odd) ? "bad" : "warn")] : null,
        misheard ? [" ", button(t("teach"), () => teach(this.device, turn.heard), { small: true })] : null),
    );
  }
}

customElements.define("vx-turn", TurnElement);

/** @param {Turn} turn @param {string} [device] whose it is */
export function turnElement(turn, device = "") {
  const element = /** @type {TurnElement} */ (document.createElement("vx-turn"));
  element.device = device;
  element.show(turn);
  return element;
}

/** Of what an idle device could not say. */
const SHOWN = "interrupted:shown";

/** Each model once, with its tokens of the turn. @param {import("../lib/turns.js").ModelUse[]} uses */
function modelWords(uses) {
  return [...new Set(uses.map((use) => use.model))].map((model) => {
    const its = uses.filter((use) => use.model === model);
    const read = its.reduce((sum, use) => sum + (use.input_tokens ?? 0), 0);
    const written = its.reduce((sum, use) => sum + (use.output_tokens ?? 0), 0);
    return read ? `${model} · ${t("turn.tokens", { in: number(read), out: number(written) })}` : model;
  });
}

/** How long a call took, or why it did not do it. @param {import("../lib/turns.js").ToolCall} call */
function callBadge(call) {
  if (call.success === null) return badge(t("turn.running"));
  if (call.success) return badge(duration(call.ms));
  const known = `turn.call.${call.error}`;
  return has(known) ? badge(t(known)) : badge(t("turn.failed"), "bad");
}

/** @param {string} outcome */
function words(outcome) {
  const kind = outcome === SHOWN ? "shown" : outcome.split(":")[0];
  return has(`outcome.${kind}`) ? t(`outcome.${kind}`) : outcome;
}

/** What to do about an error, where it is known. @param {string} error */
function advice(error) {
  const kind = ["no_key", "refused", "unreachable", "timeout", "quota", "not_installed"].find((each) => error.includes(each));
  return kind ? t(`advice.${kind}`) : "";
}

/** @param {string} text */
function pretty(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
  } catch {
    return text;
  }
}
