// Which page is shown: the part of the address behind `#`.

/** @typedef {{path: string[], query: URLSearchParams}} Place */

/** Where the browser is. @returns {Place} */
export function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return {
    path: path.split("/").filter(Boolean).map(decode),
    query: new URLSearchParams(query),
  };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * An address of a page.
 * @param {string[]} path @param {Record<string, string>} [query]
 */
export function href(path, query = {}) {
  const text = new URLSearchParams(query).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/**
 * Goes to a page. `replace`: without an entry of its own in the history.
 * @param {string[]} path @param {Record<string, string>} [query] @param {{replace?: boolean}} [how]
 */
export function go(path, query = {}, { replace = false } = {}) {
  if (replace) location.replace(href(path, query));
  else location.hash = href(path, query);
}

/** @param {() => void} listener */
export function onPlace(listener) {
  addEventListener("hashchange", () => {
    if (!held()) listener();
  });
}

/** @type {{at: string, ask: (leave: () => void) => boolean} | null} */
let guard = null;

/**
 * Has a page asked before another one is shown. `ask` returns whether it may be left at once; if not,
 * the page stays, and is left by a call of `leave`.
 *
 * @param {AbortSignal} signal @param {(leave: () => void) => boolean} ask
 */
export function guardPlace(signal, ask) {
  const mine = { at: location.hash, ask };
  guard = mine;
  signal.addEventListener("abort", () => { if (guard === mine) guard = null; }, { once: true });
}

/** Whether the page stays, since what is in it would be lost. */
function held() {
  const to = location.hash;
  if (!guard || to === guard.at) return false;
  const leave = () => {
    guard = null;
    location.hash = to;
  };
  if (guard.ask(leave)) {
    guard = null;
    return false;
  }
  history.replaceState(null, "", guard.at);
  return true;
}
