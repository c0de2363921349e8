// Everything else that a profile can say, and the whole content as JSON.

import { field, setFieldError } from "../../components/controls.js";
import { h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { boundLines, boundOption, json } from "./bound.js";

/** @typedef {import("./editor.js").Editor} Editor */

/** Keys that other sections have. */
const ELSEWHERE = new Set(["language", "instructions", "wake_reply", "name", "user", "place", "tts", "asr", "vad", "agent", "tools"]);

/** @param {Editor} editor */
export function moreSection(editor) {
  const { schema, defaults } = editor.form;
  const others = Object.entries(schema.properties ?? {}).filter(([name]) => !ELSEWHERE.has(name));
  return [
    h("div", { class: "option-grid" }, ...others.map(([name, each]) =>
      name === "exit_phrases"
        ? boundLines(editor, [name], t("profiles.option.exit_phrases"), { inherited: defaults[name], hint: t("profiles.exit.hint") })
        : boundOption(editor, [name], name, each, { inherited: defaults[name] }))),
    jsonView(editor),
  ];
}

/** The content as it is stored. It and the form edit the same. @param {Editor} editor */
function jsonView(editor) {
  const area = h("textarea", { class: "mono json", rows: 14, spellcheck: false, autocapitalize: "off" });
  const element = field(t("profiles.json"), area, { hint: t("profiles.json.hint") });
  const write = () => {
    if (document.activeElement === area) return;
    area.value = JSON.stringify(editor.draft.content, null, 2);
    setFieldError(area, "");
  };
  area.addEventListener("input", () => {
    try {
      const content = json(area.value.trim() || "{}");
      if (typeof content !== "object" || content === null || Array.isArray(content)) throw new Error(t("profiles.json.object"));
      editor.draft.replace(content);
      setFieldError(area, "");
    } catch (error) {
      editor.draft.fail(["JSON"], /** @type {Error} */ (error).message);
      setFieldError(area, /** @type {Error} */ (error).message);
    }
  });
  editor.fields.set("JSON", { control: area, label: "JSON" });
  editor.draft.addEventListener("change", () => { if (!editor.draft.unread.has("JSON")) write(); }, { signal: editor.signal });
  write();
  return h("details", { class: "json-view" }, h("summary", null, t("profiles.json.summary")), element);
}
