// The words of the console. Each page brings its own, in every language, with `addWords`.

/** @typedef {"en" | "zh"} Language */
/** @typedef {Record<Language, Record<string, string>>} Words */

const KEY = "vixio.language";

/** @type {Language[]} */
export const LANGUAGES = ["en", "zh"];

/** @type {Words} */
const all = { en: {}, zh: {} };

/** @type {Language} */
let current = chosen();

/** @returns {Language} */
function chosen() {
  const kept = localStorage.getItem(KEY);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.languages.some((each) => each.toLowerCase().startsWith("zh")) ? "zh" : "en";
}

/** Adds words. @param {Words} words */
export function addWords(words) {
  for (const language of LANGUAGES) Object.assign(all[language], words[language]);
}

/** The language in use. @returns {Language} */
export function language() {
  return current;
}

/** Changes the language; the page has to be drawn anew. @param {Language} to */
export function setLanguage(to) {
  current = to;
  localStorage.setItem(KEY, to);
  document.documentElement.lang = locale();
}

/** The language as the browser's own functions take it. */
export function locale() {
  return current === "zh" ? "zh-CN" : "en";
}

/**
 * Returns words by their key. `{name}` in them is replaced by the value of that name. For a number
 * `count` the key with `.one` is taken where there is one and the number is 1.
 *
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function t(key, values = {}) {
  const words = all[current];
  const text = (values.count === 1 ? words[`${key}.one`] : undefined) ?? words[key] ?? all.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** Several names in one sentence. @param {string[]} names */
export function listed(names) {
  return names.join(t("list.between"));
}

/** Whether there are words for a key. @param {string} key */
export function has(key) {
  return key in all[current] || key in all.en;
}
