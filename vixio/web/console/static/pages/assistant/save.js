// Saves the settings of the assistant. The server starts the parts that are new before they are in
// force, and refuses all where one does not start, unless a person wants it all the same.

import { ApiError, put } from "../../lib/api.js";
import { has, t } from "../../lib/i18n.js";
import { ownWords } from "../../lib/problems.js";

/** @typedef {{path: string, message: string}} Mistake */

const TIMEOUT_MS = 120_000; // the start of new parts has 60 s, the save of another browser before it 30 s

/**
 * Returns what is wrong, and whether it can be saved all the same; null: it is saved.
 * @param {any} content @param {any} state of `GET /assistant` @param {boolean} anyway
 * @returns {Promise<{mistakes: Mistake[], anyway: boolean} | null>}
 */
export async function store(content, state, anyway) {
  try {
    await put("/assistant", { content, changed_at: state.changed_at ?? 0, anyway }, { timeout: TIMEOUT_MS });
    return null;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error;
    /** @type {Mistake[]} */
    const mistakes = error.body.mistakes ?? [{ path: "", message: error.message }];
    return { mistakes: mistakes.map(({ path, message }) => ({ path, message: ownWords(message) })), anyway: error.body.reason === "not_started" };
  }
}

/** A mistake with its place. @param {Mistake} mistake */
export function lineOf({ path, message }) {
  const place = `assistant.section.${path}`;
  return path ? t("assistant.mistake", { place: has(place) ? t(place) : path, what: message }) : message;
}
