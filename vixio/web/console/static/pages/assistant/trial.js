// Trials of parts that are not saved: each is used once, as in a turn.

import { ApiError, request } from "../../lib/api.js";
import { duration } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { ownWords } from "../../lib/problems.js";

/** @typedef {{ok: boolean, ms: number | null, first_ms: number | null, detail: string, tools: string[], sound: string}} Result */

const TIMEOUT_MS = 90_000; // loading of a local model has 60 s, its use 20 s

const WAIT_MS = 1_000;
const WAITS = 60;

/** @type {Promise<unknown>} the server tries one part at a time */
let last = Promise.resolve();

/** Tries a part with a content. @param {string} part such as `asr` @param {any} content @param {AbortSignal} signal @returns {Promise<Result>} */
export function tried(part, content, signal) {
  const mine = last.then(() => inTurn(() => request("POST", "/assistant/try", { body: { part, content }, signal, timeout: TIMEOUT_MS }), signal));
  last = mine.catch(() => undefined);
  return mine;
}

/** Waits for a trial that another page began. @param {() => Promise<any>} act @param {AbortSignal} signal */
async function inTurn(act, signal) {
  for (let times = 0; ; times += 1) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409 || times >= WAITS || signal.aborted) throw error;
    }
    await new Promise((done) => setTimeout(done, WAIT_MS));
  }
}

/** The milliseconds that a part adds to a turn. @param {Result} result */
export const waitMs = (result) => result.first_ms ?? result.ms ?? 0;

/** @param {Result} result */
export function resultWords(result) {
  if (!result.ok) return ownWords(result.detail) || t("assistant.try.failed");
  return t("assistant.try.took", { time: duration(waitMs(result)) });
}

/** Plays what a voice has said. @param {string} sound of a trial @param {HTMLAudioElement} audio */
export async function play(sound, audio) {
  const url = URL.createObjectURL(new Blob([Uint8Array.from(atob(sound), (each) => each.charCodeAt(0))], { type: "audio/wav" }));
  audio.onended = audio.onerror = () => URL.revokeObjectURL(url);
  audio.src = url;
  await audio.play();
}
