// Who this browser is to the server: a device id and a client id, kept in the browser's storage.

const KEY = "vixio.device";

const LOCAL = 0x02;
/** The second lowest bit of a MAC address's first byte: locally administered, of no manufacturer. */

/** @typedef {{id: string, client: string}} Identity */

/** Returns this browser's identity; it is made at the first call. @returns {Identity} */
export function identity() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "null");
    if (typeof kept?.id === "string" && typeof kept?.client === "string") return kept;
  } catch {
    // not ours, or no storage: a new one is made
  }
  const made = { id: macAddress(), client: uuid() };
  localStorage.setItem(KEY, JSON.stringify(made));
  return made;
}

/** @param {number} count */
function random(count) {
  return crypto.getRandomValues(new Uint8Array(count));
}

/** @param {Iterable<number>} bytes @param {string} between */
function hex(bytes, between) {
  return [...bytes].map((each) => each.toString(16).padStart(2, "0")).join(between);
}

function macAddress() {
  return hex([LOCAL, ...random(5)], ":");
}

/** A UUID of version 4. `crypto.randomUUID` exists in secure contexts only. */
function uuid() {
  const bytes = random(16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return hex(bytes, "").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
