// Who is signed in: the token of the login, which all tabs of this browser share.
//
// It stands in the storage of this origin and goes into a header of each request. A page of another
// site can neither read it nor have the browser send it, as it could with a cookie.

const KEY = "vixio.login";

/** @typedef {{token: string, expires_at: number}} Login */

/** @type {Set<(login: Login | null) => void>} */
const listeners = new Set();

/** The login, if there is one that has not expired. @returns {Login | null} */
export function login() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "null");
    return kept && typeof kept.token === "string" && kept.expires_at > Date.now() ? kept : null;
  } catch {
    return null;
  }
}

/** Begins or ends a session, in all tabs. @param {Login | null} to */
export function setLogin(to) {
  if (to) localStorage.setItem(KEY, JSON.stringify(to));
  else localStorage.removeItem(KEY);
  tell();
}

/**
 * Calls `listener` whenever a session begins or ends, in any tab.
 * @param {(login: Login | null) => void} listener
 */
export function onLogin(listener) {
  listeners.add(listener);
}

function tell() {
  const now = login();
  for (const listener of listeners) listener(now);
}

addEventListener("storage", (event) => {
  if (event.key === KEY || event.key === null) tell();
});
