// Reads the stream of events, and comes back after a pause where it was. Used by a page or by the
// shared worker; it uses nothing of a page.

/** @typedef {{type: string, at: number, device_id?: string} & Record<string, any>} FeedEvent */
/** @typedef {"connecting" | "open" | "waiting" | "refused"} StreamState */

const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 15_000;

const SILENCE_MS = 40_000;
/** The server sends a sign of life every 15 s: after this the connection is taken for lost. */

/**
 * Follows the stream until `signal` ends it or the token is refused.
 *
 * @param {object} options
 * @param {string} options.url
 * @param {string} options.token
 * @param {AbortSignal} options.signal
 * @param {(events: FeedEvent[]) => void} options.receive
 * @param {(state: StreamState) => void} options.changed
 */
export async function follow({ url, token, signal, receive, changed }) {
  let last = "";
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    changed("connecting");
    const silence = new AbortController();
    try {
      const headers = { Authorization: `Bearer ${token}`, ...(last ? { "Last-Event-ID": last } : {}) };
      const response = await fetch(url, {
        headers,
        signal: AbortSignal.any([signal, silence.signal]),
        cache: "no-store",
        credentials: "omit",
      });
      if (response.status === 401 || response.status === 403) {
        changed("refused");
        return;
      }
      if (response.ok && response.body) {
        changed("open");
        pause = FIRST_PAUSE_MS;
        for await (const frame of frames(response.body, silence)) {
          if (frame.id) last = frame.id;
          if (frame.events.length) receive(frame.events);
        }
      } else if (response.status === 422) {
        last = ""; // an id that the server cannot read: begin anew, and say so
        receive([{ type: "missed", at: Date.now() }]);
      }
    } catch {
      // The server or the network is gone: come back.
    }
    if (signal.aborted) return;
    changed("waiting");
    await rest(pause, signal);
    pause = Math.min(pause * 2, LAST_PAUSE_MS);
  }
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {AbortController} silence
 * @returns {AsyncGenerator<{id: string, events: FeedEvent[]}>} one for each piece that arrives
 */
async function* frames(body, silence) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const timer = setTimeout(() => silence.abort(), SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const end = text.lastIndexOf("\n\n");
    if (end < 0) continue;
    const whole = text.slice(0, end);
    text = text.slice(end + 2);
    yield parse(whole);
  }
}

/** @param {string} text whole events @returns {{id: string, events: FeedEvent[]}} */
export function parse(text) {
  let id = "";
  /** @type {FeedEvent[]} */
  const events = [];
  for (const block of text.split("\n\n")) {
    let data = "";
    for (const line of block.split("\n")) {
      if (line.startsWith("data:")) data += line.slice(5);
      else if (line.startsWith("id:")) id = line.slice(3).trim();
    }
    if (data) events.push(JSON.parse(data));
  }
  return { id, events };
}

/** @param {number} ms @param {AbortSignal} signal */
function rest(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => { clearTimeout(timer); resolve(undefined); }, { once: true });
  });
}
