// Finding the server and being let in, as the firmware does it at its start (ota.cc).

import { language } from "../lib/i18n.js";

export const VERSION = "1.0.0";

const TIMEOUT_MS = 15_000;

/** What the server answered in the place of an address. */
export class NotAdmitted extends Error {
  /** @param {string} code empty: there is nothing to enter @param {string} message @param {boolean} polls whether `/activate` is asked */
  constructor(code, message, polls) {
    super(message);
    this.code = code;
    this.polls = polls;
  }
}

/** The server did not answer, or not as an OTA server does. `status` 0: it was not reached. */
export class OtaFailed extends Error {
  /** @param {number} status @param {number} [retryAfter] seconds */
  constructor(status, retryAfter = 0) {
    super(`OTA ${status}`);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** @typedef {{url: URL, token: string}} Server where to connect: on the page's own origin */
/** @typedef {import("./identity.js").Identity} Identity */

/** The path below which the server stands, behind a proxy that puts it under a longer one. */
const ROOT = new URL("../", document.baseURI);

/**
 * Returns a URL of the server on the page's own origin, whatever host the server names: a page may
 * connect to its own origin only.
 * @param {string} url
 */
export function onOwnOrigin(url) {
  const { pathname, search } = new URL(url, ROOT);
  const below = pathname.startsWith(ROOT.pathname) ? pathname : ROOT.pathname + pathname.slice(1);
  return new URL(below + search, ROOT);
}

/**
 * Asks where to connect. Raises NotAdmitted or OtaFailed.
 * @param {Identity} who @param {AbortSignal} signal
 * @returns {Promise<Server>}
 */
export async function findServer(who, signal) {
  const response = await post("xiaozhi/ota/", who, systemInfo(who), signal);
  if (!response.ok) {
    throw new OtaFailed(response.status, Number(response.headers.get("Retry-After")) || 0);
  }
  const answer = await response.json().catch(() => ({}));
  if (answer.activation) {
    const { code = "", message = "", challenge } = answer.activation;
    throw new NotAdmitted(String(code), String(message), Boolean(challenge));
  }
  if (typeof answer.websocket?.url !== "string") throw new OtaFailed(response.status);
  return { url: onOwnOrigin(answer.websocket.url), token: String(answer.websocket.token ?? "") };
}

/**
 * Asks whether the device has been claimed.
 * @param {Identity} who @param {AbortSignal} signal
 * @returns {Promise<"done" | "waiting" | "refused">}
 */
export async function activate(who, signal) {
  const { status } = await post("xiaozhi/ota/activate", who, {}, signal);
  return status === 200 ? "done" : status === 202 ? "waiting" : "refused";
}

/** @param {string} path @param {Identity} who @param {object} body @param {AbortSignal} signal */
async function post(path, who, body, signal) {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    return await fetch(new URL(path, ROOT), {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "Activation-Version": "1",
        "Device-Id": who.id,
        "Client-Id": who.client,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, timeout]),
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new OtaFailed(0);
  }
}

/** As Board::GetSystemInfoJson, of what a browser has. @param {Identity} who */
function systemInfo(who) {
  return {
    version: 2,
    language: language() === "zh" ? "zh-CN" : "en-US",
    mac_address: who.id,
    uuid: who.client,
    chip_model_name: "browser",
    application: { name: "vixio-console", version: VERSION },
    board: { type: "browser", name: "browser", mac: who.id },
  };
}
