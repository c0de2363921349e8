// The one place where a text becomes the address of a script: only of this version's own files.

const BASE = new URL("../", import.meta.url).href;

/** @param {string} url */
function own(url) {
  if (!url.startsWith(BASE)) throw new TypeError("not a file of the console");
  return url;
}

/** @type {any} */
const types = /** @type {any} */ (globalThis).trustedTypes;

const policy = types?.createPolicy("vixio", { createScriptURL: own });

/** Returns the address of a worker, as `SharedWorker` takes it. @param {URL} url @returns {string} */
export function workerUrl(url) {
  return policy ? policy.createScriptURL(url.href) : own(url.href);
}
