// Short notices at the edge of the window, which screen readers read.

import { h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { icon } from "./icon.js";

/** A reason takes longer to read. */
const SHOWN_MS = { good: 6_000, bad: 12_000 };

/** @type {HTMLElement | null} */
let place = null;

function region() {
  if (!place?.isConnected) {
    place = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
    document.body.append(place);
  }
  return place;
}

/** Shows a notice for a while; one that has the focus stays. @param {string} words @param {"good" | "bad"} [kind] */
export function toast(words, kind = "good") {
  const close = h("button", { type: "button", class: "button plain icon-only small", "aria-label": t("close") }, icon("close"));
  const element = h("div", { class: `toast ${kind}` }, icon(kind === "good" ? "check" : "warn"), h("span", null, words), close);
  close.addEventListener("click", () => element.remove());
  const leave = () => {
    if (element.matches(":focus-within")) setTimeout(leave, SHOWN_MS.good);
    else element.remove();
  };
  region().append(element);
  setTimeout(leave, SHOWN_MS[kind]);
}
