// What differs between two contents, before and after, for a person.

import { h } from "../../lib/dom.js";
import { has, t } from "../../lib/i18n.js";

/** @typedef {import("./draft.js").Change} Change */

const SHORT = 60; // characters of both values

/** @param {Change[]} changes */
export function changeList(changes) {
  return h("ul", { class: "changes" }, ...changes.map(({ path, before, after }) =>
    h("li", null,
      h("p", null, h("b", null, pathWords(path)), " ", h("code", { class: "small muted" }, path)),
      h("div", { class: "before-after" },
        h("del", null, h("span", { class: "visually-hidden" }, t("profiles.before")), value(path, before)),
        h("span", { class: "arrow", "aria-hidden": "true" }, "→"),
        h("ins", null, h("span", { class: "visually-hidden" }, t("profiles.after")), value(path, after))))));
}

/** What changes, on one line: each part of the content, with its values if they are short. @param {Change[]} changes */
export function summary(changes) {
  const keys = new Set(changes.map(({ path }) => path.split(/[.[]/, 1)[0]));
  return [...keys].map((key) => {
    const whole = changes.find(({ path }) => path === key);
    const [old, now] = [whole?.before, whole?.after].map((each) => {
      const shown = value(key, each);
      return typeof shown === "string" ? shown : shown.textContent ?? "";
    });
    return whole && old.length + now.length <= SHORT ? t("list.of", { name: pathWords(key), value: `${old} → ${now}` }) : pathWords(key);
  }).join(" · ");
}

/** @param {string} path */
export function pathWords(path) {
  const parts = path.replace(/\[\d+\]/g, "").split(".");
  const section = `profiles.section.${parts[0]}`;
  const inner = parts.slice(1);
  const key = `profiles.option.${inner[0] ?? parts[0]}`;
  if (!inner.length) return has(section) ? t(section) : has(key) ? t(key) : path;
  const name = [has(key) ? t(key) : inner[0], ...inner.slice(1)].join(" ");
  return has(section) ? t("profiles.of", { section: t(section), name }) : name;
}

/** @param {string} path @param {any} given */
function value(path, given) {
  if (given === null || given === undefined) return h("i", null, t("profiles.as-settings"));
  if (secret(path) && !String(given).startsWith("${")) return "•••";
  if (Array.isArray(given) && given.every((each) => typeof each === "string")) return given.join("\n");
  return typeof given === "string" ? given : JSON.stringify(given);
}

/** @param {string} path */
function secret(path) {
  return /(key|token|password|secret)$/i.test(path);
}
