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
  addEventListener("hashchange", listener);
}
