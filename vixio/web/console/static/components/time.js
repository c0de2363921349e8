// A time that says how long ago it was, and stays true.

import { ago, dateTime } from "../lib/format.js";

const EVERY_MS = 20_000;

/** @type {Set<TimeElement>} */
const shown = new Set();

/** @type {ReturnType<typeof setInterval> | undefined} */
let timer;

/** `<vx-time>`: set `at` to milliseconds since 1970; 0: never. */
export class TimeElement extends HTMLElement {
  #at = 0;

  /** @param {number} value */
  set at(value) {
    this.#at = value;
    this.show();
  }

  get at() {
    return this.#at;
  }

  connectedCallback() {
    shown.add(this);
    timer ??= setInterval(() => shown.forEach((each) => each.show()), EVERY_MS);
  }

  disconnectedCallback() {
    shown.delete(this);
    if (!shown.size) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  show() {
    const words = ago(this.#at);
    if (this.textContent !== words) this.textContent = words;
    const whole = this.#at ? dateTime(this.#at) : "";
    if (this.title !== whole) this.title = whole;
  }
}

customElements.define("vx-time", TimeElement);

/** @param {number} at milliseconds since 1970 */
export function time(at) {
  const element = /** @type {TimeElement} */ (document.createElement("vx-time"));
  element.at = at;
  return element;
}
