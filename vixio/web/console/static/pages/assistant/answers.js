// The answers of the guide while it is walked: what was typed stays when one goes back, or closes the
// browser. Keys and tokens stay in the memory of the page alone.

import { KEPT } from "./service.js";
import { nothingTyped } from "./form.js";
import { KINDS } from "./parts.js";
import { withoutTokens } from "./tools.js";

/** @typedef {import("./parts.js").Kind} Kind */

const KEY = "vixio.setup";

const BLANK = () => ({
  language: "",
  typed: /** @type {Record<Kind, import("./service.js").Typed>} */ ({ asr: nothingTyped(), agent: nothingTyped(), tts: nothingTyped() }),
  parts: /** @type {Partial<Record<Kind, any>>} */ ({}),
  servers: /** @type {Record<string, any>} */ ({}),
});

/** What the guide has been told so far. */
export class Answers {
  language = "";
  typed = BLANK().typed;
  /** Sections that were taken. @type {Partial<Record<Kind, any>>} */
  parts = {};
  /** @type {Record<string, any>} */
  servers = {};
  /** When the settings that they are for were changed; null: not begun. @type {number | null} */
  since = null;
  /** By address. @type {Map<string, string>} */
  keys = new Map();
  /** Tools by the name of the server. @type {Map<string, string[]>} */
  listed = new Map();
  /** @type {import("./parts.js").Tried} */
  tried = {};

  constructor() {
    try {
      const { since, language, typed, parts, servers } = JSON.parse(localStorage.getItem(KEY) ?? "{}");
      Object.assign(this, { since: since ?? null, language: language ?? "", parts: parts ?? {}, servers: servers ?? {} });
      for (const kind of KINDS) Object.assign(this.typed[kind], typed?.[kind]);
    } catch {
      // what cannot be read is begun anew
    }
  }

  /** Begins with what is stored; answers to older settings are dropped. @param {any} state of `GET /assistant` */
  begin(state) {
    const changed = state.changed_at ?? 0;
    if (this.since === changed) return;
    if (this.since !== null) Object.assign(this, BLANK());
    this.since = changed;
    if (state.set_up) this.servers = { ...state.content.mcp_servers };
  }

  /** Keeps them in the browser. */
  keep() {
    const parts = Object.fromEntries(Object.entries(this.parts).map(([kind, section]) => [kind, withoutKeys(section)]));
    localStorage.setItem(KEY, JSON.stringify({ since: this.since, language: this.language, typed: this.typed, parts, servers: withoutTokens(this.servers) }));
  }
}

/** @param {any} section @returns {any} */
function withoutKeys(section) {
  if (Array.isArray(section)) return section.map(withoutKeys);
  if (!section?.api_key || section.api_key === KEPT) return section;
  const { api_key: _, ...rest } = section;
  return rest;
}

/** @type {Answers | null} */
let now = null;

/** The answers so far; they outlive the page of a step. */
export function answers() {
  now ??= new Answers();
  return now;
}

/** Begins anew. */
export function forget() {
  now = null;
  localStorage.removeItem(KEY);
}

/** What is stored in the end, and tried before. @param {Answers} given @param {any} state of `GET /assistant` @param {Record<string, any>} [more] sections that are tried out */
export function contentOf(given, state, more = {}) {
  const sections = { assistant: { ...state.content.assistant, language: given.language }, ...given.parts, mcp_servers: given.servers, ...more };
  const content = { ...state.content, ...sections };
  for (const place of Object.keys(state.fixed)) { // what is fixed is not changed here
    const [section, key] = place.split(".");
    if (key) content[section] = { ...content[section], [key]: state.content[section]?.[key] };
    else content[section] = state.content[section];
    if (key && content[section][key] === undefined) delete content[section][key];
  }
  for (const [section, value] of Object.entries(content)) {
    if (value === undefined || (typeof value === "object" && !Object.keys(value).length)) delete content[section];
  }
  return content;
}
