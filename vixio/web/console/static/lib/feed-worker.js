// One stream of events for all tabs of a browser: it may have six connections to a server, and each
// stream would take one.

import { follow } from "./stream.js";

/** @typedef {{ports: Set<MessagePort>, end: AbortController, state: string}} Shared */

/** @type {Map<string, Shared>} by token */
const streams = new Map();

/** @param {MessagePort} port @param {string} token */
function leave(port, token) {
  const shared = streams.get(token);
  if (!shared) return;
  shared.ports.delete(port);
  if (!shared.ports.size) {
    shared.end.abort();
    streams.delete(token);
  }
}

/** @param {MessagePort} port @param {string} url @param {string} token */
function join(port, url, token) {
  const found = streams.get(token);
  if (found) {
    found.ports.add(port);
    port.postMessage({ state: found.state });
    return;
  }
  /** @type {Shared} */
  const shared = { ports: new Set([port]), end: new AbortController(), state: "connecting" };
  streams.set(token, shared);
  const send = (/** @type {any} */ message) => {
    for (const each of shared.ports) each.postMessage(message);
  };
  void follow({
    url,
    token,
    signal: shared.end.signal,
    receive: (events) => send({ events }),
    changed: (state) => {
      shared.state = state;
      send({ state });
      if (state === "refused") streams.delete(token);
    },
  });
}

addEventListener("connect", (event) => {
  const port = /** @type {MessageEvent} */ (event).ports[0];
  let token = "";
  port.addEventListener("message", ({ data }) => {
    if (token) leave(port, token);
    token = data.token ?? "";
    if (token) join(port, data.url, token);
  });
  port.start();
});
