// Buttons, fields and notices: the parts that every page is made of.

import { ApiError } from "../lib/api.js";
import { h, nodes, uniqueId } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { icon } from "./icon.js";
import { toast } from "./toast.js";

/** @typedef {import("./icon.js").IconName} IconName */
/** @typedef {import("../lib/dom.js").Child} Child */

/**
 * @typedef {object} ButtonOptions
 * @property {IconName} [icon]
 * @property {"primary" | "plain" | "danger"} [kind]
 * @property {boolean} [small]
 * @property {boolean} [iconOnly] the words are for screen readers and the tip
 * @property {boolean} [disabled]
 * @property {"button" | "submit"} [type]
 */

/**
 * A button. While what it does runs, it is busy; if that fails, the reason is shown.
 * @param {string} words
 * @param {((event: Event) => unknown) | null} act
 * @param {ButtonOptions} [options]
 */
export function button(words, act, options = {}) {
  const kind = options.kind ?? "plain";
  const element = h(
    "button",
    {
      type: options.type ?? "button",
      class: `button ${kind}${options.small ? " small" : ""}${options.iconOnly ? " icon-only" : ""}`,
      "aria-label": options.iconOnly ? words : null,
      title: options.iconOnly ? words : null,
      disabled: options.disabled ?? false,
    },
    options.icon ? icon(options.icon) : null,
    options.iconOnly ? null : h("span", null, words),
  );
  if (act) element.addEventListener("click", (event) => void busy(element, () => act(event)));
  return element;
}

/**
 * Does something while a control is busy, and shows why it failed.
 * @param {HTMLButtonElement} control @param {() => unknown} act @param {(words: string) => void} [tell] shows it
 * @returns {Promise<boolean>} whether it succeeded
 */
export async function busy(control, act, tell) {
  if (control.getAttribute("aria-busy") === "true") return false;
  control.setAttribute("aria-busy", "true");
  try {
    await act();
    return true;
  } catch (error) {
    showError(error, tell);
    return false;
  } finally {
    control.removeAttribute("aria-busy");
  }
}

/** Shows why something failed. @param {unknown} error @param {(words: string) => void} [tell] */
export function showError(error, tell = (words) => toast(words, "bad")) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (!(error instanceof ApiError)) console.warn(error);
  tell(error instanceof Error ? error.message : String(error));
}

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

/**
 * A control with its label, a hint and a place for what is wrong with it.
 * @param {string} label @param {Control} control @param {{hint?: string, hidden?: boolean}} [options]
 */
export function field(label, control, options = {}) {
  control.id ||= uniqueId("field");
  const hint = options.hint ? h("p", { class: "hint", id: `${control.id}-hint` }, options.hint) : null;
  const error = h("p", { class: "field-error", id: `${control.id}-error`, role: "alert" });
  control.setAttribute("aria-describedby", [hint?.id, error.id].filter(Boolean).join(" "));
  return h(
    "div",
    { class: "field" },
    h("label", { for: control.id, class: options.hidden ? "visually-hidden" : null }, label),
    control,
    hint,
    error,
  );
}

/** Says what is wrong with a field's control; empty: nothing. @param {Control} control @param {string} text */
export function setFieldError(control, text) {
  const place = document.getElementById(`${control.id}-error`);
  if (place && place.textContent !== text) place.textContent = text;
  if (text) control.setAttribute("aria-invalid", "true");
  else control.removeAttribute("aria-invalid");
}

/**
 * A list to choose from.
 * @param {[string, string][]} options value and words @param {string} [value]
 * @param {Record<string, any>} [properties]
 */
export function select(options, value, properties = {}) {
  const element = h("select", properties, ...options.map(([each, words]) => h("option", { value: each }, words)));
  if (value !== undefined) element.value = value;
  return element;
}

/** A panel with a heading. @param {string} title @param {...(Child | Child[])} children */
export function card(title, ...children) {
  const id = uniqueId("card");
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, title), ...nodes(children));
}

/** What stands where there is nothing. @param {string} words @param {...Child} more */
export function empty(words, ...more) {
  return h("div", { class: "empty" }, h("p", null, words), ...nodes(more));
}

/** A line that says that something is read. */
export function loading() {
  return h("p", { class: "loading", role: "status" }, t("loading"));
}

/** A notice within a page. @param {"good" | "warn" | "bad" | "info"} kind @param {...Child} children */
export function notice(kind, ...children) {
  return h(
    "div",
    { class: `notice ${kind}`, role: kind === "bad" ? "alert" : "status" },
    icon(kind === "good" ? "check" : "warn"),
    h("div", null, ...nodes(children)),
  );
}

/** A small label. @param {string} words @param {string} [kind] */
export function badge(words, kind = "") {
  return h("span", { class: `badge ${kind}` }, words);
}
