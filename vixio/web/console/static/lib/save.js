// Hands a file to the browser's downloads.

import { h } from "./dom.js";

/** @param {Blob} content @param {string} name */
export function save(content, name) {
  const url = URL.createObjectURL(content);
  h("a", { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
