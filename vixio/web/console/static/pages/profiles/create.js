// A new profile: from a template, from a file, like another one, or empty.

import { field, notice, select, setFieldError } from "../../components/controls.js";
import { openDialog } from "../../components/dialog.js";
import { fileField } from "../../components/file.js";
import { get, part, post, put } from "../../lib/api.js";
import { fill, h, uniqueId } from "../../lib/dom.js";
import { language, t } from "../../lib/i18n.js";
import { ownWords } from "../../lib/problems.js";
import { go } from "../../lib/router.js";
import { pathWords } from "./changes.js";
import { beginWith } from "./editor.js";
import { readFile } from "./file.js";

/**
 * What a profile can begin with: its words by the language of the page, its texts by that of the assistant.
 * @typedef {{name: string, title: Record<string, string>, about: Record<string, string>, texts: Record<string, Record<string, any>>, content: Record<string, any>}} Template
 */

/** @returns {Promise<Template[]>} */
async function templates() {
  return (await fetch(new URL("./templates.json", import.meta.url))).json();
}

/** @param {Template} template @param {string} tag the assistant's language */
function contentOf({ texts, content }, tag) {
  return { ...(texts[tag.split("-")[0].toLowerCase()] ?? { instructions: texts.en.instructions }), ...content };
}

/**
 * Asks how a profile is to be, makes it and shows it.
 * @param {AbortSignal} signal @param {string} [like] a profile that there is
 */
export async function createProfile(signal, like = "") {
  const [all, form, { profiles: known }] = await Promise.all([templates(), get("/profiles/schema", {}, signal), get("/profiles", {}, signal)]);
  const name = h("input", { type: "text", maxLength: 64, required: true, autocomplete: "off" });
  const other = select(known.map((/** @type {any} */ each) => [each.name, each.name]), like || known[0]?.name, { "aria-label": t("profiles.new.like") });
  const file = h("input", { type: "file", accept: ".json,application/json" });
  const upload = h("div", { class: "stack", hidden: true }, fileField(t("profiles.file"), file, { hint: t("profiles.file.hint") }));
  const wrong = h("div");
  const group = uniqueId("begin");
  let begins = like ? "like" : "0";
  let proposed = "";
  /** @type {Record<string, any> | null} */
  let read = null;
  /** @type {{path: string, message: string}[]} */
  let mistakes = [];

  /** @param {string} words */
  const propose = (words) => {
    if (name.value && name.value !== proposed) return;
    const taken = new Set(known.map((/** @type {any} */ each) => each.name));
    let free = words;
    for (let at = 2; taken.has(free); at += 1) free = `${words} ${at}`;
    name.value = proposed = words ? free : "";
    setFieldError(name, "");
  };
  /** @param {string} value */
  const choose = (value) => {
    begins = value;
    other.hidden = value !== "like";
    upload.hidden = value !== "file";
    if (value !== "file") fill(wrong);
    propose(all[Number(value)]?.title[language()] ?? "");
  };
  /** @param {string} value @param {string} title @param {string} about */
  const option = (value, title, about) =>
    h("label", { class: "template" },
      h("input", { type: "radio", name: group, value, checked: value === begins, onchange: () => choose(value) }),
      h("span", { class: "stack-tight" }, h("b", null, title), h("span", { class: "small muted" }, about)));
  file.addEventListener("change", () => void take());
  name.addEventListener("input", () => setFieldError(name, ""));
  const choice = h("fieldset", { class: "plain templates" },
    h("legend", null, t("profiles.new.from")),
    ...all.map((each, at) => option(String(at), each.title[language()], each.about[language()])),
    option("empty", t("profiles.new.empty"), t("profiles.new.empty.about")),
    known.length ? option("like", t("profiles.new.like"), t("profiles.new.like.about")) : null,
    option("file", t("profiles.new.file"), t("profiles.new.file.about")));
  choose(begins);
  const done = await openDialog(
    { title: like ? t("profiles.copy", { name: like }) : t("profiles.new"), act: t("profiles.new.act"), run: create },
    choice, other, upload, wrong,
    field(t("profiles.new.name"), name, { hint: t("profiles.new.name.hint") }));
  if (done) go(["profiles", name.value.trim()]);

  /** Reads the file and has it checked. */
  async function take() {
    const chosen = file.files?.[0];
    read = null;
    fill(wrong);
    if (!chosen) return;
    try {
      const found = await readFile(chosen);
      ({ errors: mistakes } = await post("/profiles/check", { content: found.content }, { signal }));
      for (const each of mistakes) each.message = ownWords(each.message);
      read = found.content;
      propose(found.name);
      if (mistakes.length) fill(wrong, notice("warn", h("p", null, t("profiles.file.mistakes", { count: mistakes.length })), h("ul", null, ...mistakes.slice(0, 5).map(({ path, message }) => h("li", null, path ? t("profiles.mistake", { place: pathWords(path), what: message }) : message)))));
    } catch (error) {
      if (!signal.aborted) fill(wrong, notice("bad", h("p", null, /** @type {Error} */ (error).message)));
    }
  }

  async function create() {
    const wanted = name.value.trim();
    const refused = await refusal(wanted, signal);
    setFieldError(name, refused);
    if (refused) throw new Error(refused);
    if (begins === "file" && !read) throw new Error(t("profiles.file.none"));
    const content = begins === "file" ? read : begins === "like" ? known.find((/** @type {any} */ each) => each.name === other.value)?.content : begins === "empty" ? {} : contentOf(all[Number(begins)], form.defaults.language ?? "");
    const unsaved = begins === "file" && mistakes.length; // they are mended in the form
    await put(`/profiles/${part(wanted)}`, { content: unsaved ? {} : content });
    if (unsaved) beginWith(wanted, content);
  }
}

/** Why a name cannot be taken; empty: it can. @param {string} name @param {AbortSignal} signal @returns {Promise<string>} */
async function refusal(name, signal) {
  if (!name) return t("profiles.new.name.none");
  const { profiles } = await get("/profiles", {}, signal);
  if (profiles.some((/** @type {any} */ each) => each.name === name)) return t("profiles.new.name.taken", { name });
  const { errors } = await post("/profiles/check", { name, content: {} });
  return ownWords(errors.find((/** @type {any} */ each) => each.path === "")?.message ?? "");
}
