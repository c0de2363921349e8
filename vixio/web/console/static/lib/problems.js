// What the server says is wrong, in the language of the page. It says it in English.

import { PROBLEMS } from "../words/problems.js";
import { language } from "./i18n.js";

/** @type {{form: RegExp, names: string[], words: string}[]} */
const forms = PROBLEMS.map(([sentence, words]) => ({
  form: new RegExp(`^${sentence.split(/\{\w+\}/).map((each) => each.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("(.+?)")}$`, "s"),
  names: [...sentence.matchAll(/\{(\w+)\}/g)].map((each) => each[1]),
  words,
}));

/** A sentence of the server, in the language of the page where it is known in that. @param {string} text @returns {string} */
export function ownWords(text) {
  return language() === "zh" ? inChinese(text) : text;
}

/** @param {string} text @returns {string} */
function inChinese(text) {
  for (const { form, names, words } of forms) {
    const found = form.exec(text);
    if (found) return words.replace(/\{(\w+)\}/g, (whole, name) => (names.includes(name) ? inChinese(bare(found[names.indexOf(name) + 1])) : whole));
  }
  const colon = text.indexOf(": "); // a place, and what is wrong there
  const rest = colon > 0 ? inChinese(text.slice(colon + 2)) : "";
  return rest && rest !== text.slice(colon + 2) ? `${text.slice(0, colon)}：${rest}` : text;
}

/** @param {string} value as Python writes it */
function bare(value) {
  return value.replace(/^(['"])(.*)\1$/s, "$2");
}
