// Being let in: the server's answer to OTA, the claim, and the wait for it.

import { ApiError, post } from "../lib/api.js";
import { login } from "../lib/session.js";
import { activate, findServer, NotAdmitted } from "./ota.js";

const POLL_MS = 3_000; // as the firmware after a 202
const RETRY_MS = 10_000;
const POLLS = 10; // then OTA is asked again, as the firmware does

/** @typedef {import("./ota.js").Server} Server */
/** @typedef {import("./identity.js").Identity} Identity */

/** The server serves this device not: it is blocked, or nothing can be claimed. */
export class Refused extends Error {}

/**
 * Returns where to connect, once the device is admitted. Where somebody is signed in, it is claimed at
 * once; otherwise `waiting` is called with the code, and this goes on when it has been claimed.
 * Raises Refused, OtaFailed, or AbortError when `signal` ends it.
 *
 * @param {Identity} who @param {string} name that a claim gives the device @param {AbortSignal} signal
 * @param {(code: string) => void} waiting
 * @returns {Promise<Server>}
 */
export async function admit(who, name, signal, waiting) {
  let claimed = false;
  for (;;) {
    const answer = await findServer(who, signal).catch((error) => {
      if (error instanceof NotAdmitted) return error;
      throw error;
    });
    if (!(answer instanceof NotAdmitted)) return answer;
    if (!answer.code) throw new Refused(answer.message);
    if (login() && !claimed) {
      claimed = true; // once: what fails now fails again
      if (await claim(answer.code, name, signal)) continue;
    }
    waiting(answer.code);
    await wait(who, answer.polls, signal);
  }
}

/** @param {string} code @param {string} name @param {AbortSignal} signal */
async function claim(code, name, signal) {
  try {
    await post("/devices/claim", { code, name }, { signal });
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false; // without the right to: somebody else may claim it
    throw error;
  }
}

/** Asks until it is claimed, or it is time to ask OTA again. @param {Identity} who @param {boolean} polls @param {AbortSignal} signal */
async function wait(who, polls, signal) {
  if (!polls) return pause(RETRY_MS, signal);
  for (let poll = 0; poll < POLLS; poll += 1) {
    const state = await activate(who, signal).catch((error) => {
      if (signal.aborted) throw error;
      return "refused";
    });
    if (state === "done") return;
    await pause(state === "waiting" ? POLL_MS : RETRY_MS, signal);
    if (state === "refused") return; // OTA says why
  }
}

/** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}
