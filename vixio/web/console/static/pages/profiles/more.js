// The long form: whatever a profile can say beside the short form, and the whole content as JSON.

import { badge, field, setFieldError } from "../../components/controls.js";
import { fill, h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { boundLines, boundOption, boundText, json } from "./bound.js";
import { missingProviders, providerChoice, providerOptions } from "./provider.js";
import { toolsSection } from "./tools.js";

/** @typedef {import("./editor.js").Editor} Editor */

/** Keys that are not among the further ones. */
const ELSEWHERE = new Set(["language", "instructions", "wake_reply", "name", "user", "place", "tts", "asr", "vad", "agent", "tools"]);

/** Keys of the content within the parts of the long form, by the parts' names. @type {Record<string, string[]>} */
const KEYS = { words: ["wake_reply", "name", "user", "place"], hearing: ["asr", "vad"], tts: ["tts"], agent: ["agent"], tools: ["tools"] };

/** @param {Editor} editor */
export function longForm(editor) {
  const { schema, defaults } = editor.form;
  const others = Object.entries(schema.properties ?? {}).filter(([name]) => !ELSEWHERE.has(name));
  return h("details", { class: "card long-form" },
    h("summary", null, h("h2", null, t("profiles.section.more")), h("span", { class: "small muted" }, t("profiles.more.about"))),
    part(editor, "words", KEYS.words,
      boundLines(editor, ["wake_reply"], t("profiles.wake-reply"), { inherited: defaults.wake_reply, single: true, rows: 2, hint: t("profiles.wake-reply.hint") }),
      h("div", { class: "option-grid" },
        boundText(editor, ["name"], t("profiles.name"), { hint: t("profiles.name.hint") }),
        boundText(editor, ["user"], t("profiles.user"), { inherited: defaults.user, hint: t("profiles.user.hint") }),
        boundText(editor, ["place"], t("profiles.place"), { inherited: defaults.place, hint: t("profiles.place.hint") }))),
    part(editor, "tts", KEYS.tts, providerOptions(editor, "tts", { skip: ["voice", "voices"] }), missingProviders(editor, "tts")),
    part(editor, "hearing", KEYS.hearing,
      providerChoice(editor, "asr"), providerOptions(editor, "asr"), missingProviders(editor, "asr"), h("hr"),
      providerChoice(editor, "vad"), providerOptions(editor, "vad"), missingProviders(editor, "vad")),
    part(editor, "agent", KEYS.agent, providerOptions(editor, "agent", { skip: ["model"] }), missingProviders(editor, "agent")),
    part(editor, "tools", KEYS.tools, ...toolsSection(editor)),
    part(editor, "limits", others.map(([name]) => name),
      h("div", { class: "option-grid" }, ...others.map(([name, each]) =>
        name === "exit_phrases"
          ? boundLines(editor, [name], t("profiles.option.exit_phrases"), { inherited: defaults[name], hint: t("profiles.exit.hint") })
          : boundOption(editor, [name], name, each, { inherited: defaults[name] })))),
    jsonView(editor));
}

/** A part of the long form, folded, with how much of it the profile says. @param {Editor} editor @param {string} name @param {string[]} keys @param {...(Node | null)} children */
function part(editor, name, keys, ...children) {
  const own = h("span");
  const draw = () => {
    const count = keys.filter((each) => editor.draft.at([each]) !== undefined).length;
    fill(own, count ? badge(t("profiles.more.own"), "accent") : null);
  };
  editor.draft.addEventListener("change", draw, { signal: editor.signal });
  draw();
  return h("details", { class: "part-of-form", "data-part": name }, h("summary", null, h("h3", null, t(`profiles.part.${name}`)), own), h("div", { class: "stack" }, ...children));
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
  return h("details", { class: "part-of-form json-view" }, h("summary", null, h("h3", null, t("profiles.json.summary"))), element);
}
