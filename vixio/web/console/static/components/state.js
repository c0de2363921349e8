// What a device does now: a dot with a word.

import { h, setText } from "../lib/dom.js";
import { t } from "../lib/i18n.js";

/** @typedef {"asleep" | "reachable" | "idle" | "listening" | "thinking" | "speaking" | "paused" | "waiting" | "blocked"} DeviceState */

/** `<vx-state>`: set `value`. */
export class StateElement extends HTMLElement {
  #value = "";
  #words = h("span");

  connectedCallback() {
    if (this.firstChild) return;
    this.append(h("span", { class: "dot", "aria-hidden": "true" }), this.#words);
  }

  /** @param {string} value */
  set value(value) {
    if (value === this.#value) return;
    this.#value = value;
    this.dataset.state = value;
    setText(this.#words, t(`state.${value}`));
  }

  get value() {
    return this.#value;
  }
}

customElements.define("vx-state", StateElement);

/** @param {string} value */
export function stateBadge(value) {
  const element = /** @type {StateElement} */ (document.createElement("vx-state"));
  element.value = value;
  return element;
}
