// A button that copies a text.

import { t } from "../lib/i18n.js";
import { h } from "../lib/dom.js";
import { button } from "./controls.js";
import { toast } from "./toast.js";

/** @param {() => string} text @param {import("./controls.js").ButtonOptions} [options] */
export function copyButton(text, options = {}) {
  const element = button(t("copy"), async () => {
    if (navigator.clipboard) await navigator.clipboard.writeText(text());
    else copyOld(text(), /** @type {HTMLElement} */ (element.parentElement));
    toast(t("copied"));
  }, { icon: "copy", ...options });
  return element;
}

/**
 * Copies where there is no clipboard, which is so over plain http on a network.
 * @param {string} text @param {HTMLElement} place within an open dialog, if there is one
 */
function copyOld(text, place) {
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  const box = h("textarea", { class: "visually-hidden", value: text, readOnly: true, "aria-hidden": "true" });
  place.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  before?.focus();
  if (!done) throw new Error(t("copy.failed"));
}
