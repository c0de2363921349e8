// Which tools the assistant may use, and for which it asks first: names and patterns.

import { button, field } from "../../components/controls.js";
import { fill, h, uniqueId } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { pathText } from "./draft.js";

/** @typedef {import("./editor.js").Editor} Editor */

/** @param {Editor} editor */
export function toolsSection(editor) {
  const known = h("datalist", { id: uniqueId("tools") });
  const seen = h("div");
  let drawn = "none";
  const draw = () => {
    const names = toolNames(editor);
    if (names.join("\n") === drawn) return;
    drawn = names.join("\n");
    fill(known, ...names.map((each) => h("option", { value: each })));
    fill(seen, names.length
      ? h("details", { class: "small" }, h("summary", null, t("profiles.tools.known", { count: names.length })), h("p", { class: "tool-names" }, ...names.map((each) => h("code", null, each))))
      : h("p", { class: "small muted" }, t("profiles.tools.none")));
  };
  for (const name of ["all", "changed"]) editor.devices.addEventListener(name, draw, { signal: editor.signal });
  draw();
  return [
    known,
    h("p", { class: "small muted" }, t("profiles.tools.about")),
    ...["allow", "deny", "confirm"].map((each) => patterns(editor, each, known.id)),
    seen,
  ];
}

/** The tools of the devices that the server knows. @param {Editor} editor */
function toolNames(editor) {
  return [...new Set([...editor.devices.all.values()].flatMap((each) => each.tools ?? []))].sort();
}

/** @param {Editor} editor @param {string} key @param {string} list */
function patterns(editor, key, list) {
  const path = ["tools", key];
  const control = h("input", { type: "text", list, autocomplete: "off", maxLength: 200, "data-path": pathText(path) });
  const chips = h("ul", { class: "chips", "aria-label": t(`profiles.tools.${key}`) });
  /** @returns {any[]} */
  const given = () => [editor.draft.at(path) ?? []].flat();
  const add = () => {
    const text = control.value.trim();
    control.value = "";
    if (text && !given().includes(text)) editor.draft.put(path, [...given(), text]);
  };
  const draw = () =>
    fill(chips, ...given().map((each) =>
      h("li", null,
        h("code", null, String(each)),
        button(t("profiles.tools.remove", { name: String(each) }), () => {
          const rest = given().filter((other) => other !== each);
          editor.draft.put(path, rest.length ? rest : undefined);
          control.focus();
        }, { icon: "close", iconOnly: true, small: true }))));
  control.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    add();
  });
  control.addEventListener("change", add);
  editor.fields.set(pathText(path), { control, label: t(`profiles.tools.${key}`) });
  editor.draft.addEventListener("change", draw, { signal: editor.signal });
  draw();
  return h("div", { class: "stack patterns" },
    h("div", { class: "add-row" },
      field(t(`profiles.tools.${key}`), control, { hint: t(`profiles.tools.${key}.hint`) }),
      button(t("profiles.tools.add"), add, { icon: "plus" })),
    chips);
}
