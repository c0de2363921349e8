// The choice of a provider, and its options by their schemas. The choice stands in the short form, the
// options in the long one.

import { notice, select } from "../../components/controls.js";
import { fill, h } from "../../lib/dom.js";
import { listed, t } from "../../lib/i18n.js";
import { bind, boundOption } from "./bound.js";
import { same } from "./draft.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {"vad" | "asr" | "agent" | "tts"} Kind */
/** @typedef {import("./draft.js").Path} Path */

/** Options that are shown at once; the others are folded away. @type {Record<Kind, string[]>} */
const FIRST = {
  vad: [],
  asr: ["model", "language", "hotwords", "base_url", "api_key"],
  agent: ["model", "temperature", "max_tokens", "reasoning_effort", "base_url", "api_key", "language", "agents"],
  tts: ["voice", "rate", "speed", "pitch", "volume", "model", "instructions", "base_url", "api_key"],
};

/**
 * What the draft has of a provider: where its options stand, which it is, and what it inherits.
 * `several`: it is a list, of which the first is shown.
 *
 * @typedef {object} InForce
 * @property {Path} path @property {string} name @property {boolean} own whether the draft names it
 * @property {any} known @property {boolean} several @property {Record<string, any>} inherited
 */

/** @param {Editor} editor @param {Kind} kind @returns {InForce} */
export function inForce(editor, kind) {
  const given = editor.draft.at([kind]);
  const several = Array.isArray(given);
  /** @type {Path} */
  const path = several ? [kind, 0] : [kind];
  const mine = editor.draft.at([...path, "name"]);
  const server = [editor.form.defaults[kind]].flat();
  const own = typeof mine === "string";
  const name = own ? mine : server.length === 1 ? server[0]?.name ?? "" : "";
  const known = editor.form.providers[kind].find((/** @type {any} */ each) => each.name === name);
  /** @type {Record<string, any>} */
  const inherited = own ? {} : { ...server[0] }; // a section with a name takes nothing over
  for (const [key, each] of Object.entries(known?.options?.properties ?? {})) inherited[key] ??= /** @type {any} */ (each).default;
  return { path, name, own, known, several, inherited };
}

/**
 * Draws a part of the page anew whenever another provider is in force.
 * @param {Editor} editor @param {Kind} kind @param {(now: InForce, signal: AbortSignal) => void} draw `signal` ends with what it has drawn
 */
export function whenChosen(editor, kind, draw) {
  let drawn = "";
  let ending = new AbortController();
  editor.signal.addEventListener("abort", () => ending.abort(), { once: true });
  const look = () => {
    const now = inForce(editor, kind);
    const key = JSON.stringify([now.name, now.own, now.path, editor.draft.at([kind])?.length ?? 0]);
    if (key === drawn) return;
    drawn = key;
    ending.abort();
    ending = new AbortController();
    draw(now, ending.signal);
    editor.recheck();
  };
  editor.draft.addEventListener("change", look, { signal: editor.signal });
  look();
}

/** Which provider it is, and what that needs. @param {Editor} editor @param {Kind} kind */
export function providerChoice(editor, kind) {
  const choice = h("div");
  const about = h("div", { class: "stack needs" });
  whenChosen(editor, kind, (now, signal) => {
    const focused = choice.contains(document.activeElement);
    fill(choice, choose(editor, kind, now, signal));
    if (focused) choice.querySelector("select")?.focus();
    fill(about, ...explain(editor, kind, now));
  });
  return h("div", { class: "stack" }, choice, about);
}

/**
 * The options of the provider. `only`: these alone; `skip`: those that another part of the page has.
 * @param {Editor} editor @param {Kind} kind @param {{only?: string[], skip?: string[]}} [which]
 */
export function providerOptions(editor, kind, which = {}) {
  const place = h("div", { class: "stack" });
  whenChosen(editor, kind, (now, signal) => fill(place, ...optionFields(editor, kind, now, which, signal)));
  return place;
}

/** @param {Editor} editor @param {Kind} kind @param {InForce} now @param {AbortSignal} signal */
function choose(editor, kind, now, signal) {
  const all = editor.form.providers[kind];
  const server = [editor.form.defaults[kind]].flat().map((each) => each?.name).filter(Boolean).join(", ");
  const control = select([["", t("profiles.inherited", { value: server })], ...all.filter((/** @type {any} */ each) => each.installed).map((/** @type {any} */ each) => [each.name, each.name])]);
  const missing = all.filter((/** @type {any} */ each) => !each.installed);
  for (const each of missing) {
    control.append(h("option", { value: each.name, disabled: each.name !== now.name }, t("profiles.not-installed", { name: each.name })));
  }
  if (now.own && ![...control.options].some((each) => each.value === now.name)) control.append(h("option", { value: now.name }, now.name));
  return bind(editor, [...now.path, "name"], t(`profiles.provider.${kind}`), control, {
    signal,
    read() {
      switchTo(editor, kind, now, control.value);
      return control.value || undefined;
    },
    write: (value) => { control.value = value ?? ""; },
  });
}

/** Keeps the options of the provider that is left, and takes out those of the other one. @param {Editor} editor @param {Kind} kind @param {InForce} now @param {string} to */
function switchTo(editor, kind, now, to) {
  const options = { ...editor.draft.at(now.path) };
  delete options.name;
  editor.put_aside.set(`${kind} ${now.own ? now.name : ""}`, options);
  const back = editor.put_aside.get(`${kind} ${to}`) ?? {};
  if (same(options, back)) return;
  const whole = { ...(to ? { name: to } : {}), ...back };
  editor.draft.put(now.path, Object.keys(whole).length ? whole : undefined);
}

/** What a person has to know of the choice. @param {Editor} editor @param {Kind} kind @param {InForce} now */
function explain(editor, kind, now) {
  const found = [];
  const given = editor.draft.at([kind]);
  if (now.several) found.push(notice("info", h("p", null, t("profiles.several", { names: given.map((/** @type {any} */ each) => each?.name ?? "?").join(" → ") }))));
  if (now.known && !now.known.installed) {
    found.push(notice("warn", h("p", null, t("profiles.missing", { name: now.name })), h("code", null, now.known.remedy)));
  }
  return found;
}

/** What would install those that are missing here. @param {Editor} editor @param {Kind} kind */
export function missingProviders(editor, kind) {
  const missing = editor.form.providers[kind].filter((/** @type {any} */ each) => !each.installed);
  if (!missing.length) return null;
  return h("details", { class: "small" },
    h("summary", null, t("profiles.missing.others", { names: listed(missing.map((/** @type {any} */ each) => each.name)) })),
    h("dl", null, ...missing.flatMap((/** @type {any} */ each) => [h("dt", null, each.name), h("dd", null, h("code", null, each.remedy))])));
}

/** @param {Editor} editor @param {Kind} kind @param {InForce} now @param {{only?: string[], skip?: string[]}} which @param {AbortSignal} signal */
export function optionFields(editor, kind, now, { only, skip = [] }, signal) {
  const options = now.known?.options;
  const all = Object.entries(options?.properties ?? {}).filter(([name]) => (only ? only.includes(name) : !skip.includes(name)));
  const make = (/** @type {[string, any]} */ [name, schema]) =>
    boundOption(editor, [...now.path, name], name, resolved(schema, options), { inherited: now.inherited[name], standard: now.own, signal });
  const first = [...(only ?? FIRST[kind])].map((name) => all.find(([each]) => each === name)).filter((each) => each !== undefined);
  const others = all.filter((each) => !first.includes(each));
  return [
    first.length ? h("div", { class: "option-grid" }, ...first.map(make)) : null,
    others.length
      ? h("details", { class: "more-options" },
          h("summary", null, t("profiles.options.more", { count: others.length })),
          h("div", { class: "option-grid" }, ...others.map(make)))
      : null,
  ].filter((each) => each !== null);
}

/** @param {any} schema @param {any} whole */
function resolved(schema, whole) {
  const name = schema.$ref?.split("/").pop();
  return name ? { ...whole.$defs?.[name], ...schema } : schema;
}
