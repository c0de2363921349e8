// Who the assistant is: its language, its instructions and its first words.

import { button } from "../../components/controls.js";
import { fill, find, h, uniqueId } from "../../lib/dom.js";
import { has, locale, t } from "../../lib/i18n.js";
import { boundArea, boundLines, boundText } from "./bound.js";

/** @param {import("./editor.js").Editor} editor */
export function whoSection(editor) {
  const { defaults, languages } = editor.form;
  const names = new Intl.DisplayNames([locale()], { type: "language", fallback: "code" });
  const list = h("datalist", { id: uniqueId("languages") }, ...languages.map((/** @type {any} */ each) => h("option", { value: each.tag }, names.of(each.tag) ?? each.name)));
  return [
    boundText(editor, ["language"], t("profiles.language"), { inherited: defaults.language, list: list.id, hint: t("profiles.language.hint"), maxLength: 64 }),
    list,
    ...instructions(editor),
    boundLines(editor, ["wake_reply"], t("profiles.wake-reply"), { inherited: defaults.wake_reply, single: true, rows: 2, hint: t("profiles.wake-reply.hint") }),
    h("div", { class: "option-grid" },
      boundText(editor, ["name"], t("profiles.name"), { hint: t("profiles.name.hint") }),
      boundText(editor, ["user"], t("profiles.user"), { inherited: defaults.user, hint: t("profiles.user.hint") }),
      boundText(editor, ["place"], t("profiles.place"), { inherited: defaults.place, hint: t("profiles.place.hint") })),
  ];
}

/** @param {import("./editor.js").Editor} editor */
function instructions(editor) {
  const inherited = editor.form.defaults.instructions ?? "";
  const element = boundArea(editor, ["instructions"], t("profiles.instructions"), { rows: 12, hint: t("profiles.instructions.hint"), inherited });
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
