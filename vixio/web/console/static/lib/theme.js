// Light or dark: as the system has it, or as the user chose here.

const KEY = "vixio.theme";

/** @typedef {"light" | "dark" | "system"} Theme */

/** @returns {Theme} */
export function theme() {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** @param {Theme} to */
export function setTheme(to) {
  if (to === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, to);
  applyTheme();
}

/** Has the style sheets follow. */
export function applyTheme() {
  const now = theme();
  if (now === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = now;
}
