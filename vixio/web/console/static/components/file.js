// Files that are chosen or dropped, and files that are saved.

import { h, setText } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { field } from "./controls.js";
import { icon } from "./icon.js";

/**
 * A field for a file, in the console's words: the browser's own button speaks the language of the browser.
 * @param {string} label @param {HTMLInputElement} input of the type file; files can be dropped onto it @param {{hint?: string}} [options]
 */
export function fileField(label, input, options = {}) {
  const words = h("span", { class: "clip" });
  const draw = () => setText(words, input.files?.[0]?.name ?? t("file.choose"));
  const element = field(label, input, options);
  const area = h("div", { class: "file" });
  input.replaceWith(area);
  area.append(icon("upload"), words, input);
  input.addEventListener("change", () => {
    draw();
    input.form?.addEventListener("reset", () => setTimeout(draw), { once: true });
  });
  draw();
  return element;
}

/** Has the browser save a file. @param {string} name without its ending @param {Blob} blob of JSON */
export function saveJson(name, blob) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: `${name.replace(/[^\p{L}\p{N}]+/gu, "-")}.json` }).click();
  URL.revokeObjectURL(url);
}
