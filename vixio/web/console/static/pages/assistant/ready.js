// Ready tools and music: each with a switch, and its few options, which are tried before they count.

import { button, card, field, select, setFieldError } from "../../components/controls.js";
import { openDialog } from "../../components/dialog.js";
import { ApiError } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { listed, t } from "../../lib/i18n.js";
import { ownWords } from "../../lib/problems.js";
import { fixedPlace } from "./fixed.js";
import { hostOf } from "./parts.js";
import { KEPT, stop } from "./service.js";
import { tried } from "./trial.js";
import "../../words/ready.js";

/** @typedef {"text" | "choice" | "lines" | "pairs" | "lists" | "secrets" | "secret" | "number"} Form */
/** @typedef {{name: string, control: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement, read: () => any}} Field */

/** Options of each, the most important one first. @type {Record<string, Record<string, Form>>} */
const OPTIONS = {
  weather: { place: "text", units: "choice" },
  news: { feeds: "lists" },
  calculator: {},
  dates: {},
  calendar: { addresses: "secrets" },
  search: { service: "choice", base_url: "text", api_key: "secret" },
  media: { folders: "lines", stories: "lines", stations: "pairs", podcasts: "pairs", rescan: "number" },
};
/** @type {Record<string, string[]>} */
const CHOICES = { units: ["metric", "imperial"], service: ["tavily", "searxng"] };
const READY = Object.keys(OPTIONS).filter((name) => name !== "media");
const OF_DISK = ["folders", "stories"];
const ADDRESS = /^(.*?)\s*=?\s*((?:https?|webcal):\/\/\S+)$/;

/**
 * The cards of the ready tools and of music.
 * @param {any} settings of the page @returns {HTMLElement[]}
 */
export function readyCards(settings) {
  const { state, draft, signal } = settings;
  const places = { ready: h("ul", { class: "parts" }), media: h("ul", { class: "parts" }) };
  /** What a trial has found, by tool. @type {Map<string, string>} */
  const found = new Map();

  /** @param {string} group */
  const fixed = (group) => state.fixed[`tools.${group}`] ?? "";
  /** @param {string} group @returns {Record<string, any>} the tools that are on, with their options */
  function on(group) {
    const value = fixed(group) ? state.in_force.tools?.[group] : draft.at(["tools", group]);
    if (group === "media") return value && value.enabled !== false ? { media: value } : {};
    /** @type {[string, any][]} */
    const entries = Array.isArray(value) ? value.flatMap((each) => Object.entries(typeof each === "string" ? { [each]: {} } : each)) : Object.entries(value ?? {});
    return Object.fromEntries(entries.filter(([, options]) => options !== null));
  }

  /** Sections with other options of a tool. @param {string} name @param {any} options undefined: it is off */
  function changed(name, options) {
    if (name === "media") return options;
    const { [name]: _, ...others } = on("ready");
    const next = options === undefined ? others : { ...others, [name]: options };
    return Object.keys(next).length ? next : undefined;
  }
  /** @param {string} name */
  const groupOf = (name) => (name === "media" ? "media" : "ready");

  /** @param {string} name @param {any} options */
  function put(name, options) {
    draft.put(["tools", groupOf(name)], changed(name, options));
    draw();
  }

  function draw() {
    const held = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.tool;
    fill(places.ready, ...READY.map(row));
    fill(places.media, row("media"));
    if (held) /** @type {HTMLElement | null} */ (document.querySelector(`input[data-tool="${held}"]`))?.focus();
  }

  /** @param {string} name */
  function row(name) {
    const group = groupOf(name);
    const options = on(group)[name];
    const editable = settings.editable(`tools.${group}`);
    const missing = settings.choices.missing?.[name];
    const needs = Boolean(missing) && name !== "dates"; // whose lunar calendar alone is a library's
    const check = h("input", { type: "checkbox", "data-tool": name, checked: options !== undefined, disabled: !editable || (needs && options === undefined), onchange: async () => {
      if (!check.checked) return put(name, undefined);
      if (Object.keys(OPTIONS[name]).length === 0) return put(name, {});
      await ask(name, {});
      draw();
    } });
    return h("li", { class: "part", "data-ready": name },
      h("div", { class: "row spread" },
        h("label", { class: "check" }, check, h("span", { class: "stack-tight" }, h("b", null, t(`ready.${name}`)), h("span", { class: "small muted" }, (options && summary(name, options)) || t(`ready.${name}.about`)))),
        editable && options && Object.keys(OPTIONS[name]).length ? button(t("assistant.change"), () => ask(name, options), { small: true, icon: "edit" }) : null),
      missing ? h("p", { class: "small" }, t("ready.missing"), " ", h("code", null, missing)) : null,
      found.has(name) && options ? h("p", { class: "small muted", role: "status" }, found.get(name)) : null);
  }

  /** @param {string} name @param {any} options */
  async function ask(name, options) {
    const fields = Object.entries(OPTIONS[name]).map(([key, form]) => fieldOf(name, key, form, options));
    const rows = fields.map(({ control, element }) => element(control));
    const service = fields.find((each) => each.name === "service");
    const look = () => { if (service) rows[1].hidden = service.control.value !== "searxng"; };
    service?.control.addEventListener("change", look);
    look();
    await openDialog({ title: t(`ready.${name}`), act: t("ready.try"), run: () => run(name, options, fields) }, h("p", { class: "small muted" }, t(`ready.${name}.about`)), ...rows);
  }

  /** @param {string} name @param {string} key @param {Form} form @param {any} options */
  function fieldOf(name, key, form, options) {
    const { control, read } = CONTROLS[form](options[key], key);
    const kept = (form === "secret" || form === "secrets") && options[key] ? ` ${t("ready.kept")}` : "";
    const barred = OF_DISK.includes(key) && !settings.choices.programs;
    if (barred) control.disabled = true;
    const hint = barred ? t("ready.no-disk") : t(`ready.${name}.${key}.hint`) + kept;
    return { name: key, control, read, element: (/** @type {any} */ each) => field(t(`ready.${name}.${key}`), each, { hint }) };
  }

  /** Tries a tool, and takes its options where it works. @param {string} name @param {any} before @param {Field[]} fields */
  async function run(name, before, fields) {
    const options = { ...before };
    for (const { name: key, control, read } of fields) {
      setFieldError(control, "");
      const value = read();
      if (value === undefined) delete options[key];
      else options[key] = value;
    }
    if (options.service === "tavily") delete options.base_url;
    const group = groupOf(name);
    const part = name === "media" ? "tools.media" : `tools.ready.${name}`;
    const tools = { ...draft.at(["tools"]), [group]: changed(name, options) };
    /** @type {import("./trial.js").Result} */
    let result;
    try {
      result = await tried(part, settings.content({ tools }), signal);
    } catch (error) {
      const own = error instanceof ApiError && error.status === 422 ? (error.body.mistakes ?? []).filter((/** @type {any} */ each) => each.path.startsWith(part)) : [];
      if (!own.length) throw error;
      for (const { path, message } of own.reverse()) say(fields, path.slice(part.length + 1).split(/[.[]/)[0] || message, message);
      throw stop();
    }
    if (!result.ok) {
      say(fields, result.detail.replace(`${name}: `, ""), result.detail.replace(`${name}: `, ""));
      throw stop();
    }
    found.set(name, foundWords(name, result.detail));
    put(name, options);
  }

  draw();
  draft.addEventListener("change", draw, { signal });
  const note = settings.choices.programs || !state.editable ? null : h("p", { class: "small muted" }, t("ready.public"));
  return /** @type {const} */ (["ready", "media"]).map((group) => {
    const element = card(t(`ready.card.${group}`), h("p", { class: "small muted" }, t(`ready.card.${group}.about`)), places[group], fixed(group) ? fixedPlace(fixed(group)) : note?.cloneNode(true) ?? null);
    element.dataset.part = group;
    return element;
  });
}

/** Says what is wrong beside the field that it is about. @param {Field[]} fields @param {string} about @param {string} words */
function say(fields, about, words) {
  const named = fields.find(({ name }) => about.startsWith(name) || about.startsWith(`search.${name}`));
  const refused = /\b40[13]\b/.test(words) ? fields.find(({ name }) => name === "api_key") : undefined;
  const service = fields.find(({ name, control }) => name === "service" && control.value === "searxng");
  const address = service && fields.find(({ name }) => name === "base_url");
  const read = fields.find(({ name, control }) => OF_DISK.includes(name) && control.value.split("\n").some((each) => each.trim() && words.startsWith(each.trim())));
  const { control } = named ?? refused ?? address ?? read ?? fields[0];
  setFieldError(control, ownWords(words));
  control.focus();
}

/** @param {string} name @param {string} detail of a trial */
function foundWords(name, detail) {
  if (name !== "media") return t("ready.works", { detail: detail.replace(`${name} `, "") });
  const parts = [...detail.matchAll(/(\d+) (music|story|podcast|radio)/g)].map(([, count, kind]) => t(`ready.found.${kind}`, { count }));
  return t("ready.found", { parts: parts.length ? listed(parts) : t("ready.found.none") });
}

/** What a tool is set to, in a few words. @param {string} name @param {any} options */
function summary(name, options) {
  if (name === "weather") return options.place ?? "";
  if (name === "news") return Object.keys(options.feeds ?? {}).join(", ");
  if (name === "calendar") return t("ready.calendar.count", { count: options.addresses?.length ?? 0 });
  if (name === "search") return options.base_url ? hostOf(options.base_url) : "Tavily";
  if (name === "media") return [...(options.folders ?? []), ...(options.stories ?? []), ...Object.keys(options.stations ?? {}), ...Object.keys(options.podcasts ?? {})].join(" · ");
  return "";
}

/** @param {string} text */
const linesOf = (text) => text.split("\n").map((each) => each.trim()).filter(Boolean);
/** @param {string} value */
const area = (value) => h("textarea", { rows: 3, spellcheck: false, value });

/** @param {string} text @returns {[string, string][]} names and addresses, one pair a line */
function pairsOf(text) {
  return linesOf(text).map((line) => {
    const [, name, address] = ADDRESS.exec(line) ?? [null, line, ""];
    return [name || hostOf(address), address];
  });
}

/** A control for a value, and what reads it; undefined: the default. @type {Record<Form, (value: any, key: string) => {control: Field["control"], read: () => any}>} */
const CONTROLS = {
  text(value) {
    const control = h("input", { type: "text", autocomplete: "off", spellcheck: false, maxLength: 500, value: value ?? "" });
    return { control, read: () => control.value.trim() || undefined };
  },
  choice(value, key) {
    const control = select(CHOICES[key].map((each) => [each, t(`ready.${key}.${each}`)]), value ?? CHOICES[key][0]);
    return { control, read: () => control.value };
  },
  number(value) {
    const control = h("input", { type: "number", min: 10, max: 3600, value: value ?? 300 });
    return { control, read: () => (control.value ? Number(control.value) : undefined) };
  },
  lines(value) {
    const control = area((value ?? []).join("\n"));
    return { control, read: () => (control.value.trim() ? linesOf(control.value) : undefined) };
  },
  pairs(value) {
    const control = area(Object.entries(value ?? {}).map((each) => each.join(" = ")).join("\n"));
    return { control, read: () => (control.value.trim() ? Object.fromEntries(pairsOf(control.value)) : undefined) };
  },
  lists(value) {
    const control = area(Object.entries(value ?? {}).flatMap(([name, all]) => /** @type {string[]} */ (all).map((each) => `${name} = ${each}`)).join("\n"));
    return { control, read: () => {
      /** @type {Record<string, string[]>} */
      const lists = {};
      for (const line of linesOf(control.value)) {
        const [, name, address] = ADDRESS.exec(line) ?? [null, "*", line];
        (lists[name || "*"] ??= []).push(address);
      }
      return Object.keys(lists).length ? lists : undefined;
    } };
  },
  secrets(value) {
    const control = area("");
    control.required = !value?.length;
    return { control, read: () => (control.value.trim() ? linesOf(control.value) : value ?? []) };
  },
  secret(value) {
    const control = h("input", { type: "password", autocomplete: "off", spellcheck: false, maxLength: 1_000 });
    return { control, read: () => control.value.trim() || (value ? KEPT : undefined) };
  },
};
