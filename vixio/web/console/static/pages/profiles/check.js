// Checks the draft while it is written, shows what will change, and saves it.

import { badge, button, card, notice } from "../../components/controls.js";
import { icon } from "../../components/icon.js";
import { toast } from "../../components/toast.js";
import { get, part, post, put, request } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { fieldOf, showMistakes } from "./bound.js";
import { changeList, pathWords } from "./changes.js";
import { same } from "./draft.js";

/** @typedef {import("./editor.js").Editor} Editor */

const PAUSE_MS = 300;

/** Asks the server about the draft, a moment after the last key; an older answer is dropped. */
export class Checker extends EventTarget {
  /** @type {any} the answer for the draft as it is; null: it has not come */
  result = null;
  /** @type {Error | null} */
  error = null;
  #timer = 0;
  #asking = new AbortController();
  #content = "";

  /** @param {Editor} editor */
  constructor(editor) {
    super();
    this.editor = editor;
    editor.draft.addEventListener("change", () => this.#plan(), { signal: editor.signal });
    editor.draft.addEventListener("stored", () => { this.#content = ""; }, { signal: editor.signal });
    editor.signal.addEventListener("abort", () => {
      clearTimeout(this.#timer);
      this.#asking.abort();
    }, { once: true });
    void this.ask();
  }

  /** Whether the draft can be saved as it is. */
  get valid() {
    return Boolean(this.result?.valid) && !this.editor.draft.unread.size;
  }

  #plan() {
    const now = JSON.stringify(this.editor.draft.content);
    if (now !== this.#content) {
      this.#content = now;
      this.result = null;
      this.#asking.abort();
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => void this.ask(), PAUSE_MS);
    }
    this.#tell();
  }

  async ask() {
    const { editor } = this;
    this.#asking.abort();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    this.#content = JSON.stringify(editor.draft.content);
    try {
      const result = await post("/profiles/check", { name: editor.name, content: editor.draft.content }, { signal });
      if (signal.aborted) return;
      this.result = result;
      this.error = null;
    } catch (error) {
      if (signal.aborted) return;
      this.error = /** @type {Error} */ (error);
    }
    this.#tell();
  }

  /** All that is wrong: what cannot be read here, and what the server says. @returns {{path: string, message: string}[]} */
  mistakes() {
    const unread = [...this.editor.draft.unread].map(([path, message]) => ({ path, message }));
    return [...unread, ...(this.result?.errors ?? [])];
  }

  #tell() {
    this.dispatchEvent(new CustomEvent("checked"));
  }
}

/** The panel "What will change". @param {Editor} editor */
export function changesCard(editor) {
  const place = h("div", { class: "stack" });
  const draw = () => {
    const { checker, draft } = editor;
    if (checker.result || draft.unread.size) showMistakes(editor, checker.mistakes());
    if (checker.error) {
      return fill(place, notice("bad", h("p", null, t("profiles.check.failed")), h("p", null, checker.error.message), button(t("retry"), () => checker.ask(), { icon: "refresh" })));
    }
    const { result } = checker;
    const mistakes = checker.mistakes();
    if (!result && !mistakes.length) return place.children.length ? place.setAttribute("aria-busy", "true") : fill(place, h("p", { class: "muted" }, t("profiles.checking")));
    place.removeAttribute("aria-busy");
    fill(
      place,
      mistakes.length
        ? h("div", { class: "notice bad mistakes" }, icon("warn"), h("div", null, h("p", null, h("b", null, t("profiles.mistakes", { count: mistakes.length }))), h("ul", null, ...mistakes.map((each) => mistake(editor, each)))))
        : null,
      result && !result.changes.length && !mistakes.length ? h("p", { class: "muted" }, t("profiles.unchanged")) : null,
      result?.changes.length ? changeList(result.changes) : null,
      result ? devices(result) : null,
    );
  };
  editor.checker.addEventListener("checked", draw, { signal: editor.signal });
  draw();
  return card(t("profiles.changes"), place);
}

/** @param {Editor} editor @param {{path: string, message: string}} mistake */
function mistake(editor, { path, message }) {
  const at = fieldOf(editor, path);
  const field = editor.fields.get(at);
  const go = () => {
    if (!field) return;
    for (let around = field.control.closest("details"); around; around = around.parentElement?.closest("details") ?? null) around.open = true;
    field.control.focus();
    field.control.scrollIntoView({ block: "center" });
  };
  const words = path && path !== "JSON" ? `${pathWords(path)}: ${message}` : message;
  return h("li", null, field ? h("button", { type: "button", class: "link", onclick: go }, words) : words);
}

/** @param {any} result */
function devices(result) {
  if (!result.devices_total) return h("p", { class: "small muted" }, t("profiles.for.none"));
  const more = result.devices_total - result.devices.length;
  return h("div", { class: "stack small" },
    h("p", { class: "muted" }, t("profiles.for", { count: result.devices_total })),
    h("ul", { class: "for-devices" }, ...result.devices.map((/** @type {any} */ each) =>
      h("li", null, each.name || each.id, " ", badge(t(each.online ? "profiles.online" : "profiles.offline"), each.online ? "good" : "")))),
    more > 0 ? h("p", null, t("profiles.for.more", { count: more })) : null);
}

/** The bar at the lower edge: what is not saved, and its undoing right after it was. @param {Editor} editor */
export function saveBar(editor) {
  const words = h("p", { role: "status" });
  const save = button(t("save"), () => run(), { kind: "primary", icon: "check" });
  const discard = button(t("profiles.discard"), () => {
    editor.draft.replace(editor.draft.stored);
  }, { icon: "undo" });
  const undo = button(t("profiles.undo"), () => back(), { icon: "undo" });
  const bar = h("div", { class: "save-bar", role: "region", "aria-label": t("profiles.saving") }, words, h("div", { class: "row" }, undo, discard, save));
  let before = 0; // the version that the undoing restores

  const draw = () => {
    const { dirty } = editor.draft;
    const { checker } = editor;
    const count = checker.mistakes().length;
    bar.hidden = !dirty && !before;
    bar.dataset.dirty = String(dirty);
    save.hidden = discard.hidden = !dirty;
    undo.hidden = dirty || !before;
    save.disabled = !checker.valid;
    const now = !dirty ? t("profiles.saved") : count ? t("profiles.mistakes", { count }) : checker.result ? t("profiles.unsaved") : t("profiles.checking");
    if (words.textContent !== now) words.textContent = now;
  };
  editor.draft.addEventListener("change", draw, { signal: editor.signal });
  editor.checker.addEventListener("checked", draw, { signal: editor.signal });
  editor.draft.addEventListener("change", () => { if (editor.draft.dirty) before = 0; }, { signal: editor.signal });
  draw();

  async function run() {
    const content = structuredClone(editor.draft.content);
    editor.saving = true;
    try {
      const found = await put(`/profiles/${part(editor.name)}`, { content });
      editor.stored(found.content);
    } finally {
      editor.saving = false;
    }
    toast(t("profiles.saved.toast"));
    const { versions } = await get(`/profiles/${part(editor.name)}/versions`, {}, editor.signal);
    const old = versions[1];
    before = old && !old.removed && same(versions[0].content, editor.draft.stored) ? old.version : 0;
    draw();
  }

  async function back() {
    const found = await request("POST", `/profiles/${part(editor.name)}/restore`, { body: { version: before } });
    before = 0;
    editor.draft.replace(found.content);
    editor.stored(found.content);
    toast(t("profiles.undone"));
    draw();
  }

  return bar;
}
