// The parts of an assistant: what they are called, and how long a turn with them takes here.

import { t, has } from "../../lib/i18n.js";
import { number } from "../../lib/format.js";
import { same } from "../profiles/draft.js";

/** @typedef {"asr" | "agent" | "tts"} Kind */
/** @typedef {{name: string, section: any, wait_s: number, installed: boolean, can_install: boolean, remedy: string}} Choice */
/** @typedef {{name: string, title: string, base_url: string, needs_key: boolean, key_known: boolean, model: string, agent: any, asr: any, tts: any}} Service */
/** `GET /assistant/choices`. @typedef {any} Choices */
/** The seconds that parts took when they were tried, each with the section it was. @typedef {Partial<Record<Kind, {of: string, seconds: number}>>} Tried */

/** @type {Kind[]} */
export const KINDS = ["asr", "agent", "tts"];

export const SERVICE = "service";

/** The agent that is a list of agents. */
const FALLBACK = "fallback";

/** They need an account, or give up free speech: neither is proposed for being fast. */
const NOT_PROPOSED = [SERVICE, "commands"];

/** A gain below this is not worth another part. */
const NOTICED_S = 0.3;

/** What a section has, first the one that is used first. @param {any} section @returns {any[]} */
export function entries(section) {
  if (section?.name === FALLBACK) return section.models ?? [];
  return [section].flat().filter(Boolean);
}

/**
 * The section of several that stand in for each other; models have one of their own around them.
 * @param {Kind} kind @param {any[]} found @param {any} before the section until now @returns {any}
 */
export function sectionOf(kind, found, before) {
  if (found.length < 2) return found[0];
  return kind === "agent" ? { ...(before?.name === FALLBACK ? before : {}), name: FALLBACK, models: found } : found;
}

/** @param {Kind} kind @param {Choices} choices @returns {Choice[]} */
export function choicesOf(kind, choices) {
  return kind === "asr" ? choices.ears : kind === "tts" ? choices.voices : [];
}

/** Options that make another part of one with the same name. */
const TELLING = ["voice", "voices", "model", "folder", "base_url"];

/** The choice that a section is, with whatever further options. @param {Kind} kind @param {any} section @param {Choices} choices */
export function choiceOf(kind, section, choices) {
  const entry = entries(section)[0];
  return choicesOf(kind, choices).find((each) => {
    const first = entries(each.section)[0];
    return first && entry && Object.keys(first).every((key) => same(first[key], entry[key])) && TELLING.every((key) => same(first[key] ?? null, entry[key] ?? null));
  });
}

/**
 * The section that is in force as it was written; what nobody wrote is called by its name alone.
 * @param {any} state of `GET /assistant` @param {Kind} kind
 */
export function sectionIn(state, kind) {
  const inForce = state.in_force[kind];
  return state.content[kind] ?? (state.fixed[kind] ? inForce : { name: entries(inForce)[0]?.name });
}

/** The service that an entry uses; undefined: it is none that is offered. @param {any} entry @param {Choices} choices @returns {Service | undefined} */
export function serviceOf(entry, choices) {
  if (entry?.name !== "openai") return undefined;
  return choices.services.find((/** @type {Service} */ each) => each.base_url === (entry.base_url ?? ""));
}

/** What an entry is called. @param {Kind} kind @param {any} entry @param {Choices} choices */
export function nameOf(kind, entry, choices) {
  const known = choiceOf(kind, entry, choices)?.name ?? entry?.name;
  if (entry?.name === "openai") return serviceOf(entry, choices)?.title ?? hostOf(entry.base_url);
  return has(`assistant.${kind}.${known}`) ? t(`assistant.${kind}.${known}`) : String(known ?? "–");
}

/** What parts of the choices that are taken have to be installed. @param {Record<Kind, any>} parts @param {Choices} choices */
export function missingOf(parts, choices) {
  return KINDS.flatMap((kind) => {
    const choice = choiceOf(kind, parts[kind], choices);
    return choice && !choice.installed ? [`${kind}.${choice.name}`] : [];
  });
}

/** @param {string} url */
export function hostOf(url) {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

/** The seconds that a part adds to a turn: as tried, else as measured for such a machine. @param {Kind} kind @param {any} section @param {Choices} choices @param {Tried} tried */
export function waitOf(kind, section, choices, tried) {
  const found = tried[kind];
  return found?.of === JSON.stringify(section) ? found.seconds : choiceOf(kind, section, choices)?.wait_s ?? 0;
}

/**
 * Where the time of a turn will go, as far as it is known.
 * @param {Record<Kind, any>} parts @param {Choices} choices @param {Tried} tried
 * @returns {import("../../components/bar.js").Stage[]}
 */
export function turnOf(parts, choices, tried) {
  const wait = (/** @type {Kind} */ kind) => waitOf(kind, parts[kind], choices, tried) * 1000;
  return [{ name: "waited", ms: choices.pause_s * 1000 }, { name: "heard", ms: wait("asr") }, { name: "thought", ms: wait("agent") }, { name: "spoke", ms: wait("tts") }];
}

/** @param {import("../../components/bar.js").Stage[]} stages */
export const secondsOf = (stages) => stages.reduce((sum, each) => sum + each.ms, 0) / 1000;

/** @param {number} seconds */
export const shortSeconds = (seconds) => number(seconds, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/**
 * What makes a turn that is over the limit faster: the first that brings it within the limit, or else
 * what saves most. Null: nothing does, or it is fast enough.
 *
 * @param {Record<Kind, any>} parts @param {Choices} choices @param {Tried} tried
 * @returns {{kind: Kind, choice: Choice, seconds: number} | null}
 */
export function fasterThan(parts, choices, tried) {
  const whole = secondsOf(turnOf(parts, choices, tried));
  if (whole <= choices.limit_s) return null;
  let best = null;
  const wait = (/** @type {Kind} */ kind) => waitOf(kind, parts[kind], choices, tried);
  for (const kind of /** @type {Kind[]} */ (["asr", "tts"]).sort((a, b) => wait(b) - wait(a))) {
    for (const choice of choicesOf(kind, choices)) {
      if (NOT_PROPOSED.includes(choice.name) || !usable(choice) || choice === choiceOf(kind, parts[kind], choices)) continue;
      const seconds = whole - wait(kind) + choice.wait_s;
      if (seconds <= choices.limit_s) return { kind, choice, seconds };
      if (seconds < Math.min(whole - NOTICED_S, best?.seconds ?? whole)) best = { kind, choice, seconds };
    }
  }
  return best;
}

/** Whether it is there, or can be brought here. @param {Choice} choice */
export const usable = (choice) => choice.installed || choice.can_install;

/** What is here already and needs no account; of voices the one that needs no service either. @param {Kind} kind @param {Choices} choices */
export function present(kind, choices) {
  const here = choicesOf(kind, choices).filter((each) => each.name !== SERVICE && each.installed);
  return kind === "tts" ? here.at(-1) : here[0];
}

/** What is taken where nothing is chosen yet. @param {Kind} kind @param {Choices} choices @returns {Choice | undefined} */
export function proposed(kind, choices) {
  return choicesOf(kind, choices).find((each) => each.name === choices.preferred[kind] && usable(each)) ?? present(kind, choices);
}
