// What the settings file fixes: shown with its place.

import { badge, notice } from "../../components/controls.js";
import { h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { entries, nameOf } from "./parts.js";

/** @param {string} place such as `/etc/vixio/vixio.yaml:12` */
export function fixedPlace(place) {
  return h("p", { class: "small muted" }, badge(t("assistant.fixed")), " ", h("span", { class: "mono" }, place));
}

/** What is in force, in words. @param {string} name a section, or `language` @param {any} state @param {any} choices */
export function inForceWords(name, state, choices) {
  if (name === "language") return String(state.in_force.assistant?.language ?? "");
  if (name === "tools") return Object.keys(state.in_force.mcp_servers ?? {}).join(", ");
  return entries(state.in_force[name]).map((each) => nameOf(/** @type {any} */ (name), each, choices)).join(" → ");
}

/** The answer to a question that the file has given. @param {string} name @param {string} place @param {any} state @param {any} choices */
export function fixedNotice(name, place, state, choices) {
  return notice("info", h("p", null, h("b", null, inForceWords(name, state, choices))), h("p", null, t("assistant.fixed.text")), fixedPlace(place));
}
