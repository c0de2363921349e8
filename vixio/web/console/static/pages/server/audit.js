// Who changed what, in words.

import { empty } from "../../components/controls.js";
import { get } from "../../lib/api.js";
import { devicesById } from "../../lib/devices.js";
import { fill, h } from "../../lib/dom.js";
import { dateTime } from "../../lib/format.js";
import { has, listed, t } from "../../lib/i18n.js";
import { actorWords, deviceName } from "../../lib/names.js";
import { pathWords } from "../profiles/changes.js";
import "../../words/memory.js";
import "../../words/profiles.js";

const AUDITED = 200;
const LOGGED_IN = "logged in";

/** @typedef {{changes: any[], devices: Map<string, any>, people: Map<string, string>}} Audit `changes`: the newest last; `people`: names by id */

/** Reads what was changed, and what those things are called now. @param {AbortSignal} signal @returns {Promise<Audit>} */
export async function readAudit(signal) {
  const [{ changes }, devices, { people }] = await Promise.all([get("/audit", { limit: AUDITED }, signal), devicesById(signal), get("/people", {}, signal)]);
  return { changes, devices, people: new Map(people.map((/** @type {any} */ each) => [each.id, each.name])) };
}

/** @param {HTMLElement} place @param {Audit} audit */
export function drawAudit(place, audit) {
  if (!audit.changes.length) return fill(place, empty(t("server.audit.none")));
  fill(place, h("div", { class: "audit", tabIndex: 0, role: "region", "aria-label": t("server.audit") }, h("ol", { class: "entries" }, ...[...audit.changes].reverse().map((each) =>
    h("li", { class: "audit-line", title: `${each.actor} · ${each.target}` },
      h("span", { class: "muted small" }, dateTime(each.at)),
      h("span", null, lineWords(each, audit)),
      h("span", { class: "small muted" }, detailWords(each, audit)))))));
}

/** @param {any} change @param {Audit} audit */
function lineWords({ actor, action, target, detail }, audit) {
  const key = has(`audit.${action}`) ? t(`audit.${action}`) : action;
  const of = action === LOGGED_IN ? "" : targetWords(target, detail, audit);
  return t("audit.line", { actor: actorWords(actor, audit.devices), action: key, target: of }).replaceAll("  ", " ");
}

/** @param {string} whole as `device:ID` @param {Record<string, any>} detail @param {Audit} audit @returns {string} */
function targetWords(whole, detail, { devices, people }) {
  const target = whole.replace(/^memory:/, ""); // of a device or a person
  const kind = target.split(":", 1)[0];
  const key = target.slice(kind.length + 1);
  if (!has(`audit.of.${kind}`)) return whole;
  const name = kind === "device" ? deviceName(devices, key) : kind === "person" ? people.get(key) ?? detail.name ?? key : kind === "profile" || kind === "firmware" ? key : detail.name ?? "";
  return t(`audit.of.${kind}`, { name });
}

/** @param {any} change @param {Audit} audit */
function detailWords({ action, detail, target }, { devices, people }) {
  if (action === LOGGED_IN) return ""; // its token may do everything, and is that of the console
  /** @param {string} key @param {any} value @returns {string} */
  const value = (key, value) => {
    const texts = (Array.isArray(value) ? value : String(value).split(", ")).map(String);
    if (key === "device" || key === "devices") return listed(texts.map((each) => deviceName(devices, each)));
    if (key === "person") return people.get(value) ?? value;
    if (key === "kind" && has(`reminders.kind.${value}`)) return t(`reminders.kind.${value}`);
    if (key === "keys") return listed(texts.map(pathWords));
    if (typeof value === "boolean") return t(value ? "profiles.yes" : "profiles.no");
    return typeof value === "object" && !Array.isArray(value) ? JSON.stringify(value) : texts.join(", ");
  };
  const words = Object.entries(detail)
    .filter(([key, each]) => each !== "" && each !== null && !(Array.isArray(each) && !each.length) && !(key === "name" && /^(person|api-token):/.test(target)))
    .map(([key, each]) => t("audit.detail", { key: has(`audit.key.${key}`) ? t(`audit.key.${key}`) : key, value: value(key, each) }))
    .join(" · ");
  return words.length > 200 ? `${words.slice(0, 199)}…` : words;
}
