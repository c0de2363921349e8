// Controls that stand for a value of the draft. What is empty is inherited, and the placeholder says what.

import { field, select, setFieldError } from "../../components/controls.js";
import { has, t } from "../../lib/i18n.js";
import { h } from "../../lib/dom.js";
import { pathText, same } from "./draft.js";

/** @typedef {import("./draft.js").Path} Path */
/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("../../components/controls.js").Control} Control */
/**
 * `inherited`: what holds where nothing stands; `standard`: it is the provider's, not of the settings.
 * @typedef {{hint?: string, inherited?: any, standard?: boolean, signal?: AbortSignal}} BoundOptions
 */

/**
 * Binds a control to a place in the draft.
 *
 * @param {Editor} editor @param {Path} path @param {string} label @param {Control} control
 * @param {{read: () => any, write: (value: any) => void, hint?: string, signal?: AbortSignal}} how `read` raises Error for what cannot be read
 */
export function bind(editor, path, label, control, { read, write, hint, signal = editor.signal }) {
  const element = field(label, control, { hint });
  const text = pathText(path);
  control.dataset.path = text;
  const refresh = () => {
    if (document.activeElement !== control && !editor.draft.unread.has(text)) write(editor.draft.at(path));
  };
  control.addEventListener("input", () => {
    try {
      editor.draft.put(path, read());
    } catch (error) {
      editor.draft.fail(path, /** @type {Error} */ (error).message);
    }
  });
  editor.fields.set(text, { control, label });
  editor.draft.addEventListener("change", refresh, { signal });
  refresh();
  return element;
}

/** @param {Editor} editor @param {Path} path @param {string} label @param {BoundOptions & {list?: string, maxLength?: number}} [options] */
export function boundText(editor, path, label, options = {}) {
  const control = h("input", { type: "text", autocomplete: "off", list: options.list ?? null, maxLength: options.maxLength ?? 2_000, placeholder: inheritedWords(options.inherited, options.standard) });
  return bind(editor, path, label, control, {
    ...options,
    read: () => (control.value === "" ? undefined : control.value),
    write: (value) => { control.value = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value); },
  });
}

/** @param {Editor} editor @param {Path} path @param {string} label @param {BoundOptions & {rows?: number}} [options] */
export function boundArea(editor, path, label, options = {}) {
  const control = h("textarea", { rows: options.rows ?? 4, placeholder: inheritedWords(options.inherited, options.standard) });
  return bind(editor, path, label, control, {
    ...options,
    read: () => (control.value === "" ? undefined : control.value),
    write: (value) => { control.value = value ?? ""; },
  });
}

/**
 * Texts, one on each line. `single`: one alone stands in the content as a text.
 * @param {Editor} editor @param {Path} path @param {string} label @param {BoundOptions & {single?: boolean, rows?: number}} [options]
 */
export function boundLines(editor, path, label, options = {}) {
  const control = h("textarea", { rows: options.rows ?? 3, placeholder: inheritedWords(options.inherited, options.standard) });
  return bind(editor, path, label, control, {
    ...options,
    read() {
      if (control.value.trimStart().startsWith("{")) return json(control.value);
      const lines = control.value.split("\n").map((each) => each.trim()).filter(Boolean);
      if (!lines.length) return undefined;
      return options.single && lines.length === 1 ? lines[0] : lines;
    },
    write(value) {
      if (Array.isArray(value)) control.value = value.join("\n");
      else control.value = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);
    },
  });
}

/**
 * A control for an option, as its schema says.
 * @param {Editor} editor @param {Path} path @param {string} name @param {any} schema @param {BoundOptions} [options]
 */
export function boundOption(editor, path, name, schema, options = {}) {
  const one = single(schema);
  const named = has(`profiles.option.${name}`);
  const label = named ? t(`profiles.option.${name}`) : schema.title ?? name;
  const range = one.minimum !== undefined && one.maximum !== undefined ? t("form.range", { from: one.minimum, to: one.maximum }) : "";
  const secret = one.writeOnly ? t("profiles.secret") : "";
  const lines = one.type === "array" && one.items?.type === "string";
  // What the server says of an option is in English; an option that has a label here needs it least.
  const about = named ? "" : schema.description;
  const hint = [about, range, secret, lines ? t("profiles.lines") : "", `(${name})`].filter(Boolean).join(" ");
  const how = { ...options, hint };
  if (one.enum || one.type === "boolean") {
    const values = one.enum ?? [true, false];
    const words = (/** @type {any} */ value) => (typeof value === "boolean" ? t(value ? "profiles.yes" : "profiles.no") : String(value));
    const known = [["", inheritedWords(options.inherited, options.standard)], ...values.map((/** @type {any} */ each) => [JSON.stringify(each), words(each)])];
    const control = select(/** @type {[string, string][]} */ (known));
    return bind(editor, path, label, control, {
      ...how,
      read: () => (control.value ? JSON.parse(control.value) : undefined),
      write(value) {
        const text = value === undefined ? "" : JSON.stringify(value);
        if (![...control.options].some((each) => each.value === text)) control.append(h("option", { value: text }, text));
        control.value = text;
      },
    });
  }
  if (one.type === "integer" || one.type === "number") return boundNumber(editor, path, label, one, how);
  if (one.type === "string") return boundText(editor, path, label, how);
  if (lines) return boundLines(editor, path, label, how);
  return boundJson(editor, path, label, { ...how, hint: `${hint} ${t("form.json")}` });
}

/** @param {Editor} editor @param {Path} path @param {string} label @param {any} schema @param {BoundOptions} options */
function boundNumber(editor, path, label, schema, options) {
  const control = h("input", { type: "number", step: schema.type === "integer" ? "1" : "any", placeholder: inheritedWords(options.inherited, options.standard) });
  if (schema.minimum !== undefined) control.min = String(schema.minimum);
  if (schema.maximum !== undefined) control.max = String(schema.maximum);
  return bind(editor, path, label, control, {
    ...options,
    read() {
      if (control.validity.badInput) throw new Error(t("profiles.no-number"));
      return control.value === "" ? undefined : Number(control.value);
    },
    write: (value) => { control.value = value === undefined || value === null ? "" : String(value); },
  });
}

/** @param {Editor} editor @param {Path} path @param {string} label @param {BoundOptions} options */
function boundJson(editor, path, label, options) {
  const control = h("textarea", { class: "mono", rows: 2, spellcheck: false, placeholder: inheritedWords(options.inherited, options.standard) });
  return bind(editor, path, label, control, {
    ...options,
    read: () => (control.value.trim() ? json(control.value) : undefined),
    write: (value) => { control.value = value === undefined ? "" : JSON.stringify(value, null, 2); },
  });
}

/** @param {string} text */
export function json(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(t("form.no-json"));
  }
}

/** The schema without "or null". @param {any} schema */
export function single(schema) {
  const given = (schema.anyOf ?? []).filter((/** @type {any} */ each) => each.type !== "null");
  return given.length === 1 ? { ...schema, ...given[0] } : schema;
}

/** What holds where nothing stands, in words. @param {any} value @param {boolean} [standard] @returns {string} */
export function inheritedWords(value, standard = false) {
  if (typeof value === "object" && value !== null && same(Object.keys(value), ["*"])) return inheritedWords(value["*"], standard); // for all languages
  const none = value === undefined || value === null || value === "" || same(value, []) || same(value, {});
  if (none) return t(standard ? "profiles.standard.none" : "profiles.inherited.none");
  const text = typeof value === "boolean" ? t(value ? "profiles.yes" : "profiles.no") : Array.isArray(value) ? value.map(String).join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value);
  return t(standard ? "profiles.standard" : "profiles.inherited", { value: text });
}

/**
 * Shows mistakes beside the fields that they are about. Returns those that have no field.
 * @param {Editor} editor @param {{path: string, message: string}[]} mistakes
 */
export function showMistakes(editor, mistakes) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  const rest = [];
  for (const mistake of mistakes) {
    const place = fieldOf(editor, mistake.path);
    if (place) found.set(place, [...(found.get(place) ?? []), mistake.message]);
    else rest.push(mistake);
  }
  for (const [path, { control }] of editor.fields) {
    if (control.isConnected) setFieldError(control, (found.get(path) ?? []).join(" "));
  }
  return rest;
}

/** The path of the field nearest to a place: its own, or one around it. @param {Editor} editor @param {string} path */
export function fieldOf(editor, path) {
  for (let at = path; at; at = at.slice(0, Math.max(at.lastIndexOf("."), at.lastIndexOf("["), 0))) {
    if (editor.fields.get(at)?.control.isConnected) return at;
  }
  return "";
}
