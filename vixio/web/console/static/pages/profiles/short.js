// The short form: the character of the assistant, its voice and its model.

import { button, card } from "../../components/controls.js";
import { fill, find, h, setText, uniqueId } from "../../lib/dom.js";
import { has, locale, t } from "../../lib/i18n.js";
import { boundArea, boundText } from "./bound.js";
import { providerChoice, providerOptions } from "./provider.js";
import { voiceChoice } from "./voice.js";

/** @param {import("./editor.js").Editor} editor */
export function shortForm(editor) {
  return [
    card(t("profiles.section.who"), ...language(editor), ...instructions(editor)),
    card(t("profiles.section.tts"), providerChoice(editor, "tts"), ...voiceChoice(editor)),
    card(t("profiles.section.agent"), providerChoice(editor, "agent"), providerOptions(editor, "agent", { only: ["model"] })),
  ];
}

/** The language, with its name beside the tag. @param {import("./editor.js").Editor} editor */
function language(editor) {
  const { defaults, languages } = editor.form;
  const names = new Intl.DisplayNames([locale()], { type: "language", fallback: "none" });
  const named = (/** @type {string} */ tag) => {
    try {
      return names.of(tag) ?? "";
    } catch {
      return "";
    }
  };
  const list = h("datalist", { id: uniqueId("languages") }, ...languages.map((/** @type {any} */ each) => h("option", { value: each.tag }, named(each.tag) || each.name)));
  const words = h("p", { class: "language-name" });
  const draw = () => setText(words, named(editor.draft.at(["language"]) || defaults.language || ""));
  editor.draft.addEventListener("change", draw, { signal: editor.signal });
  draw();
  const element = boundText(editor, ["language"], t("profiles.language"), { inherited: defaults.language, list: list.id, hint: t("profiles.language.hint"), maxLength: 64 });
  return [h("div", { class: "language-row" }, element, words), list];
}

/** @param {import("./editor.js").Editor} editor */
function instructions(editor) {
  const inherited = editor.form.defaults.instructions ?? "";
  const element = boundArea(editor, ["instructions"], t("profiles.instructions"), { rows: 8, hint: t("profiles.instructions.hint"), inherited });
  const area = /** @type {HTMLTextAreaElement} */ (find(element, "textarea"));
  /** @param {string} text */
  const write = (text) => {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input"));
    area.focus();
  };
  const begin = button(t("profiles.instructions.start"), () => {
    area.value = "";
    write(inherited);
  }, { icon: "edit", small: true });
  const place = h("div", { class: "row" });
  const draw = () => fill(place, editor.draft.at(["instructions"]) ? null : begin);
  editor.draft.addEventListener("change", draw, { signal: editor.signal });
  draw();
  return [
    element,
    place,
    h("details", { class: "small" },
      h("summary", null, t("profiles.names")),
      h("ul", { class: "names" }, ...editor.form.names.map((/** @type {any} */ each) =>
        h("li", null,
          button(`{${each.name}}`, () => write(`{${each.name}}`), { small: true }),
          h("span", null, has(`profiles.names.${each.name}`) ? t(`profiles.names.${each.name}`) : each.about))))),
  ];
}
