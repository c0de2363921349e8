// Requests to the public API. What the console does, a script can.

import { t } from "./i18n.js";
import { ownWords } from "./problems.js";
import { login, setLogin } from "./session.js";

/** Where the API is, also behind a proxy that serves the console under a longer path. */
export const API = new URL("../api/v1", document.baseURI).href;

const TIMEOUT_MS = 30_000;

/** A request that failed, in one line for a person. */
export class ApiError extends Error {
  /** @param {number} status 0: the server was not reached @param {string} detail @param {any} [body] */
  constructor(status, detail, body = {}) {
    super(detail);
    this.status = status;
    this.body = body;
  }
}

/**
 * @typedef {object} Options
 * @property {any} [body] sent as JSON
 * @property {Record<string, string | number | boolean | undefined | null>} [query] what is empty is left out
 * @property {AbortSignal} [signal]
 * @property {number} [timeout] milliseconds, 30,000 by default
 * @property {Blob} [upload] sent as it is
 * @property {boolean} [keepalive] goes on when the window is closed
 */

/**
 * Makes a request and returns the answer. Raises ApiError, or AbortError if `signal` ended it.
 * @param {string} method @param {string} path below `/api/v1` @param {Options} [options]
 * @returns {Promise<Response>}
 */
export async function fetchApi(method, path, options = {}) {
  const url = new URL(API + path);
  for (const [name, value] of Object.entries(options.query ?? {})) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, String(value));
  }
  /** @type {Record<string, string>} */
  const headers = {};
  const now = login();
  if (now) headers.Authorization = `Bearer ${now.token}`;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  const timeout = AbortSignal.timeout(options.timeout ?? TIMEOUT_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  const body = options.upload ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  let response;
  try {
    response = await fetch(url, { method, headers, body, signal, cache: "no-store", credentials: "omit", keepalive: options.keepalive });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, t(timeout.aborted ? "api.timeout" : "api.unreachable"));
  }
  if (!response.ok) throw await problem(response, Boolean(now));
  return response;
}

/** @param {Response} response @param {boolean} signedIn */
async function problem(response, signedIn) {
  const body = await response.json().catch(() => ({}));
  if (response.status === 401 && signedIn) setLogin(null);
  return new ApiError(response.status, ownWords(body.detail || "") || t("api.status", { status: response.status }), body);
}

/**
 * Makes a request and returns what its JSON says; null for an empty answer.
 * @param {string} method @param {string} path @param {Options} [options]
 * @returns {Promise<any>}
 */
export async function request(method, path, options) {
  const response = await fetchApi(method, path, options);
  return response.status === 204 ? null : response.json();
}

/** @param {string} path @param {Options["query"]} [query] @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = (path, query, signal) => request("GET", path, { query, signal });

/** @param {string} path @param {any} [body] @param {Options} [options] @returns {Promise<any>} */
export const post = (path, body = {}, options) => request("POST", path, { ...options, body });

/** @param {string} path @param {any} body @param {Options} [options] @returns {Promise<any>} */
export const put = (path, body, options) => request("PUT", path, { ...options, body });

/** @param {string} path @param {any} body @returns {Promise<any>} */
export const patch = (path, body) => request("PATCH", path, { body });

/** @param {string} path @param {Options["query"]} [query] @returns {Promise<any>} */
export const remove = (path, query) => request("DELETE", path, { query });

/** A part of a path, as an id with colons. @param {string} text */
export const part = (text) => encodeURIComponent(text);
