// Short notices at the edge of the window, which screen readers read.

import { h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { icon } from "./icon.js";

const SHOWN_MS = 6_000;

/** @type {HTMLElement | null} */
let place = null;

function region() {
  if (!place?.isConnected) {
    place = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
    document.body.append(place);
  }
  return place;
}

/** Shows a notice; a bad one stays until it is closed. @param {string} words @param {"good" | "bad"} [kind] */
export function toast(words, kind = "good") {
  const close = h("button", { type: "button", class: "button plain icon-only small", "aria-label": t("close") }, icon("close"));
  const element = h("div", { class: `toast ${kind}` }, icon(kind === "good" ? "check" : "warn"), h("span", null, words), close);
  close.addEventListener("click", () => element.remove());
  region().append(element);
  if (kind === "good") setTimeout(() => element.remove(), SHOWN_MS);
}
