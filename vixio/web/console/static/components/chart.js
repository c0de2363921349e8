// A small chart of a value over time: an axis, the last value, and the value under the pointer.

import { h, setText, svg } from "../lib/dom.js";
import { clock, dayName } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import "../words/chart.js";

const WIDTH = 300;
const HEIGHT = 70;
const DAY_MS = 86_400_000;

/**
 * @typedef {object} ChartOptions
 * @property {string} label
 * @property {(value: number) => string} format
 * @property {number} least how far the axis goes at least
 * @property {number} [unit] of the values: the axis ends at a round number of it
 * @property {number} spanMs how much time it shows; from a day on, its samples are days
 */

/**
 * The chart. Pointer and arrow keys choose a sample, whose value stands in the place of the last
 * one; a screen reader hears it, and a line about the whole.
 */
export class Chart {
  #options;
  /** @type {number[]} */
  #at = [];
  /** @type {(number | null)[]} */
  #values = [];
  #days;
  #top = 1;
  /** @type {number | null} the chosen sample, as its time: it stays chosen when others come */
  #chosen = null;
  #value = h("b", { class: "chart-value" }, "–");
  #time = h("span", { class: "muted small" });
  #most = h("span", { class: "chart-top muted small", "aria-hidden": "true" });
  #about = h("p", { class: "visually-hidden" });
  #line = svg("path", { class: "chart-line", "vector-effect": "non-scaling-stroke" });
  #area = svg("path", { class: "chart-area" });
  #mark = h("span", { class: "chart-mark", hidden: true });
  #plot;

  /** @param {ChartOptions} options */
  constructor(options) {
    this.#options = options;
    this.#days = options.spanMs >= DAY_MS ? ".days" : "";
    this.#plot = h(
      "div",
      {
        class: "chart-plot", tabIndex: 0, role: "slider", "aria-label": t("chart.label", { name: options.label }),
        onpointermove: (/** @type {PointerEvent} */ event) => this.#point(event),
        onpointerleave: () => this.#choose(null),
        onblur: () => this.#choose(null),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      },
      svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, this.#area, this.#line),
      this.#mark,
      this.#most,
    );
    this.element = h(
      "figure",
      { class: "chart" },
      h("figcaption", { class: "row spread" }, h("span", null, options.label), h("span", { class: "row" }, this.#time, this.#value)),
      this.#plot,
      h("div", { class: "row spread muted small", "aria-hidden": "true" }, h("span", null, t(`chart.before${this.#days}`, this.#span())), h("span", null, t(`chart.now${this.#days}`))),
      this.#about,
    );
    this.#draw();
  }

  /** Shows other values. @param {number[]} at milliseconds since 1970, rising @param {(number | null)[]} values null: there is none */
  show(at, values) {
    this.#at = at;
    this.#values = values;
    this.#draw();
  }

  #draw() {
    const { format, least, unit = 1 } = this.#options;
    const known = this.#values.filter((each) => each !== null);
    this.#top = Math.max(least, unit * roundedUp(Math.max(0, ...known) / unit));
    const shown = this.#values.flatMap((each, index) => (each === null ? [] : [index]));
    const points = shown.map((index) => `${this.#x(index).toFixed(1)},${this.#y(index).toFixed(1)}`);
    if (points.length === 1) points.push(points[0]); // a line that is a dot
    const d = points.length ? `M${points.join("L")}` : "";
    this.#line.setAttribute("d", d);
    this.#area.setAttribute("d", d && `${d}L${this.#x(shown[shown.length - 1])},${HEIGHT}L${this.#x(shown[0])},${HEIGHT}Z`);
    setText(this.#most, format(this.#top));
    setText(
      this.#about,
      known.length
        ? t(`chart.about${this.#days}`, {
          name: this.#options.label, ...this.#span(),
          last: this.#words(this.#values.length - 1), least: format(Math.min(...known)), most: format(Math.max(...known)),
        })
        : t("chart.none"),
    );
    this.#show();
  }

  #span() {
    const { spanMs } = this.#options;
    return { minutes: Math.round(spanMs / 60_000), days: Math.round(spanMs / DAY_MS) };
  }

  /** @param {number} index */
  #words(index) {
    const value = this.#values[index];
    return value === null || value === undefined ? "–" : this.#options.format(value);
  }

  /** @param {number} index */
  #when(index) {
    return (this.#days ? dayName : clock)(this.#at[index]);
  }

  /** @param {number} index */
  #x(index) {
    const end = this.#at[this.#at.length - 1];
    return Math.max(0, WIDTH * (1 - (end - this.#at[index]) / this.#options.spanMs));
  }

  /** @param {number} index */
  #y(index) {
    return HEIGHT - 1 - ((this.#values[index] ?? 0) / this.#top) * (HEIGHT - 4);
  }

  #show() {
    const count = this.#values.length;
    const found = this.#chosen === null ? -1 : this.#at.indexOf(this.#chosen);
    const index = found < 0 ? count - 1 : found;
    const words = this.#words(index);
    setText(this.#value, words);
    setText(this.#time, found < 0 ? "" : this.#when(index));
    this.#mark.hidden = found < 0;
    if (found >= 0) {
      this.#mark.style.insetInlineStart = `${(this.#x(index) / WIDTH) * 100}%`;
      this.#mark.style.insetBlockStart = `${(this.#y(index) / HEIGHT) * 100}%`;
    }
    this.#plot.setAttribute("aria-valuemin", "0");
    this.#plot.setAttribute("aria-valuemax", String(Math.max(0, count - 1)));
    this.#plot.setAttribute("aria-valuenow", String(Math.max(0, index)));
    this.#plot.setAttribute("aria-valuetext", count ? `${words}, ${this.#when(index)}` : t("chart.none"));
  }

  /** @param {number | null} index */
  #choose(index) {
    this.#chosen = index === null ? null : (this.#at[index] ?? null);
    this.#show();
  }

  /** @param {PointerEvent} event */
  #point(event) {
    const box = this.#plot.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    let nearest = -1;
    for (let index = 0; index < this.#at.length; index += 1) {
      if (nearest < 0 || Math.abs(this.#x(index) - x) < Math.abs(this.#x(nearest) - x)) nearest = index;
    }
    this.#choose(nearest < 0 ? null : nearest);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = this.#values.length - 1;
    const found = this.#chosen === null ? -1 : this.#at.indexOf(this.#chosen);
    const now = found < 0 ? last : found;
    const to = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, PageUp: now + 30, PageDown: now - 30, Home: 0, End: last }[event.key];
    if (event.key === "Escape") this.#choose(null);
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.#choose(Math.min(last, Math.max(0, to)));
  }
}

/** The next round number, with some room above the value. @param {number} value */
function roundedUp(value) {
  if (value <= 0) return 0;
  const step = 10 ** Math.floor(Math.log10(value));
  const round = [1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15].find((each) => each * step >= value * 1.15) ?? 20;
  return round * step;
}
