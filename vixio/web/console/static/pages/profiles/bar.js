// The bar at the lower edge: what will change, what is wrong with it, and its saving.

import { badge, button } from "../../components/controls.js";
import { icon } from "../../components/icon.js";
import { toast } from "../../components/toast.js";
import { get, part, put, request } from "../../lib/api.js";
import { fill, h, setText, uniqueId } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { fieldOf, showMistakes } from "./bound.js";
import { changeList, pathWords, summary } from "./changes.js";
import { same } from "./draft.js";

/** @typedef {import("./editor.js").Editor} Editor */

/** It is always there. What is scrolled to stays above it. @param {Editor} editor */
export function saveBar(editor) {
  const words = h("p", { role: "status" });
  const what = h("p", { class: "small clip what" });
  const mistakes = h("ul", { class: "mistakes", hidden: true, "aria-label": t("profiles.mistakes.all") });
  const panel = h("div", { class: "bar-panel", id: uniqueId("changes"), hidden: true, role: "region", "aria-label": t("profiles.changes"), tabIndex: 0 });
  const open = button(t("profiles.changes"), () => {
    panel.hidden = !panel.hidden;
    draw();
  }, { icon: "more", small: true });
  open.setAttribute("aria-controls", panel.id);
  const again = button(t("retry"), () => editor.checker.ask(), { icon: "refresh", small: true });
  const save = button(t("save"), () => run(), { kind: "primary", icon: "check" });
  const discard = button(t("profiles.discard"), () => { editor.draft.replace(editor.draft.stored); }, { icon: "undo" });
  const undo = button(t("profiles.undo"), () => back(), { icon: "undo" });
  const bar = h("div", { class: "save-bar", role: "region", "aria-label": t("profiles.saving") },
    panel, mistakes,
    h("div", { class: "bar-line" }, h("div", { class: "stack-tight" }, words, what), h("div", { class: "row" }, again, open, undo, discard, save)));
  let before = 0; // the version that the undoing restores

  const draw = () => {
    const { dirty } = editor.draft;
    const { checker } = editor;
    const wrong = checker.mistakes();
    if (checker.result || editor.draft.unread.size) showMistakes(editor, wrong);
    const { result } = checker;
    const changes = result?.changes ?? [];
    bar.dataset.state = wrong.length || checker.error ? "bad" : dirty ? "dirty" : before ? "saved" : "";
    bar.dataset.dirty = String(dirty);
    save.disabled = !dirty || !checker.valid;
    discard.hidden = !dirty;
    undo.hidden = dirty || !before;
    setText(words, status(wrong.length));
    if (result) setText(what, summary(changes));
    again.hidden = !checker.error;
    open.hidden = !dirty;
    open.setAttribute("aria-expanded", String(!panel.hidden));
    mistakes.hidden = !wrong.length;
    fill(mistakes, ...wrong.map((each) => mistake(editor, each)));
    if (!dirty) panel.hidden = true;
    if (result && !panel.hidden) fill(panel, changes.length ? changeList(changes) : h("p", { class: "muted" }, t("profiles.unchanged")), devices(result));
  };

  /** @param {number} count of mistakes @returns {string} */
  function status(count) {
    const { checker, draft } = editor;
    if (checker.error) return `${t("profiles.check.failed")} ${checker.error.message}`;
    if (count) return t("profiles.mistakes", { count });
    if (!draft.dirty) return t(before ? "profiles.saved" : "profiles.unchanged");
    if (!checker.result) return t("profiles.checking");
    const devices = checker.result.devices_total;
    return devices ? t("profiles.unsaved.for", { count: devices }) : t("profiles.unsaved");
  }

  editor.draft.addEventListener("change", () => { if (editor.draft.dirty) before = 0; }, { signal: editor.signal });
  editor.draft.addEventListener("change", draw, { signal: editor.signal });
  editor.checker.addEventListener("checked", draw, { signal: editor.signal });
  draw();
  keepClear(bar, editor.signal);

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

/** Has the page scroll so that what gets the focus is not behind the bar. @param {HTMLElement} bar @param {AbortSignal} signal */
function keepClear(bar, signal) {
  const { style } = document.documentElement;
  const watcher = new ResizeObserver(() => {
    style.scrollPaddingBlockEnd = `${Math.ceil(bar.offsetHeight + (parseFloat(getComputedStyle(bar).insetBlockEnd) || 0))}px`;
  });
  watcher.observe(bar);
  signal.addEventListener("abort", () => {
    watcher.disconnect();
    style.scrollPaddingBlockEnd = "";
  }, { once: true });
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
  const words = path && path !== "JSON" ? t("profiles.mistake", { place: pathWords(path), what: message }) : message;
  return h("li", null, icon("warn"), field ? h("button", { type: "button", class: "link", onclick: go }, words) : h("span", null, words));
}

/** @param {any} result */
function devices(result) {
  if (!result.devices_total) return h("p", { class: "small muted" }, t("profiles.for.none"));
  const more = result.devices_total - result.devices.length;
  return h("div", { class: "stack small" },
    h("p", { class: "muted" }, t("profiles.for.these")),
    h("ul", { class: "for-devices" }, ...result.devices.map((/** @type {any} */ each) =>
      h("li", null, each.name || each.id, " ", badge(t(each.online ? "profiles.online" : "profiles.offline"), each.online ? "good" : "")))),
    more > 0 ? h("p", null, t("profiles.for.more", { count: more })) : null);
}
