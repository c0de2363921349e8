// What happens on the server, for the pages: one stream, however many pages and tabs there are.

import { API } from "./api.js";
import { login, onLogin, setLogin } from "./session.js";
import { follow } from "./stream.js";
import { workerUrl } from "./trusted.js";

/** @typedef {import("./stream.js").FeedEvent} FeedEvent */
/** @typedef {import("./stream.js").StreamState} StreamState */

const URL_OF_EVENTS = `${API}/events`;

/** @typedef {{receive: (event: FeedEvent) => void, missed: () => void}} Watcher */

/** @type {Set<Watcher>} */
const watchers = new Set();

/** @type {Set<(state: StreamState | "off") => void>} */
const stateListeners = new Set();

/** @type {StreamState | "off"} */
let state = "off";

/** Those that may have read something before the stream was open: what came in between is lost to them. */
const before = /** @type {Set<Watcher>} */ (new Set());

/**
 * Has `receive` called with each event until `signal` ends it, and `missed` when something was lost:
 * then read again what is shown.
 *
 * @param {AbortSignal} signal
 * @param {(event: FeedEvent) => void} receive
 * @param {() => void} missed
 */
export function watch(signal, receive, missed) {
  const watcher = { receive, missed };
  watchers.add(watcher);
  if (state !== "open") before.add(watcher);
  signal.addEventListener("abort", () => { watchers.delete(watcher); before.delete(watcher); }, { once: true });
}

/** The state of the stream; `off`: nobody is signed in. */
export function feedState() {
  return state;
}

/** @param {(state: StreamState | "off") => void} listener */
export function onFeedState(listener) {
  stateListeners.add(listener);
}

/** @param {StreamState | "off"} to */
function changed(to) {
  if (to === "refused" && login()) setLogin(null);
  if (to === state) return;
  state = to;
  for (const listener of stateListeners) listener(to);
  if (to === "open") missed(before);
  else for (const watcher of watchers) before.add(watcher);
}

/** @param {Set<Watcher>} those */
function missed(those) {
  const now = [...those];
  before.clear();
  for (const watcher of now) watcher.missed();
}

/** @param {FeedEvent[]} events */
function received(events) {
  for (const event of events) {
    if (event.type === "missed") missed(watchers);
    else for (const watcher of [...watchers]) watcher.receive(event);
  }
}

/** Begins to follow the stream while somebody is signed in. */
export function startFeed() {
  const attach = typeof SharedWorker === "function" ? shared() : own();
  let token = "";
  const apply = () => {
    const now = login()?.token ?? "";
    if (now === token) return;
    token = now;
    if (!now) changed("off");
    attach(now);
  };
  onLogin(apply);
  apply();
}

/** The stream of the shared worker. @returns {(token: string) => void} */
function shared() {
  const worker = new SharedWorker(workerUrl(new URL("./feed-worker.js", import.meta.url)), {
    type: "module",
    name: "vixio-events",
  });
  worker.port.addEventListener("message", ({ data }) => {
    if (data.state) changed(login() ? data.state : "off");
    if (data.events) received(data.events);
  });
  worker.port.start();
  let token = "";
  addEventListener("pagehide", () => worker.port.postMessage({ token: "" }));
  addEventListener("pageshow", (event) => {
    if (event.persisted) worker.port.postMessage({ token, url: URL_OF_EVENTS });
  });
  return (now) => {
    token = now;
    worker.port.postMessage({ token, url: URL_OF_EVENTS });
  };
}

/**
 * A stream of this tab alone, where there are no shared workers, as in Chrome on Android. A hidden tab
 * gives its connection back, and goes on where it was.
 * @returns {(token: string) => void}
 */
function own() {
  let token = "";
  let end = new AbortController();
  const begin = () => {
    end.abort();
    end = new AbortController();
    if (!token || document.hidden) return;
    void follow({ url: URL_OF_EVENTS, token, signal: end.signal, receive: received, changed });
  };
  document.addEventListener("visibilitychange", begin);
  return (now) => {
    token = now;
    begin();
  };
}
