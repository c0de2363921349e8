// Dialogs: the browser's own, which keeps the focus and closes with Escape.

import { fill, h, nodes, uniqueId } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { busy, button, notice } from "./controls.js";

/** @typedef {import("../lib/dom.js").Child} Child */

/**
 * Asks before something is done. Resolves with whether it was done.
 *
 * @param {object} options
 * @param {string} options.title names the thing: "Erase what Kitchen has said?"
 * @param {string} options.text what happens, and whether it can be taken back
 * @param {string} options.act the words of the button
 * @param {() => unknown} options.run does it; the dialog stays open if it fails
 * @param {boolean} [options.danger] true by default
 * @returns {Promise<boolean>}
 */
export function confirmed({ title, text, act, run, danger = true }) {
  return openDialog({ title, act, run, danger }, h("p", null, text));
}

/**
 * A dialog with a form.
 *
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.act the words of the button
 * @param {() => unknown} options.run called when the form is sent; the dialog stays open if it fails
 * @param {boolean} [options.danger]
 * @param {...(Child | Child[])} children
 * @returns {Promise<boolean>} whether it was done
 */
export function openDialog({ title, act, run, danger = false }, ...children) {
  const id = uniqueId("dialog");
  const send = button(act, null, { kind: danger ? "danger" : "primary", type: "submit" });
  const wrong = h("div");
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id }, title),
    h("div", { class: "dialog-body" }, ...nodes(children), wrong),
    h("div", { class: "dialog-actions" }, button(t("cancel"), () => dialog.close()), send),
  );
  /** @type {HTMLDialogElement} */
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": id }, form);
  return new Promise((resolve) => {
    let done = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      fill(wrong);
      done = await busy(send, run, (words) => fill(wrong, notice("bad", h("p", null, words))));
      if (done) dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(done);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
