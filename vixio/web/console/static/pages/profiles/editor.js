// The editor of one profile: its sections, what will change, its trials, devices and history.

import { accessPoint } from "../../components/access-point.js";
import { button, loading, notice } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { icon } from "../../components/icon.js";
import { get, part } from "../../lib/api.js";
import { Devices } from "../../lib/devices.js";
import { fill, h } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { t } from "../../lib/i18n.js";
import { go, guardPlace, href } from "../../lib/router.js";
import { login } from "../../lib/session.js";
import { assignCard } from "./assign.js";
import { showMistakes } from "./bound.js";
import { saveBar } from "./bar.js";
import { Checker } from "./check.js";
import { deviceTrial } from "./device-trial.js";
import { Draft, same } from "./draft.js";
import { saveFile } from "./file.js";
import { historyCard } from "./history.js";
import { longForm } from "./more.js";
import { removeProfile } from "./remove.js";
import { shortForm } from "./short.js";
import { trialCard } from "./trial.js";

/** Drafts that were left without a question, as by another language or the end of a login. @type {Map<string, any>} */
const kept = new Map();

/** Has the editor of a profile begin with a content that is not saved. @param {string} name @param {any} content */
export function beginWith(name, content) {
  kept.set(name, content);
}

/** What the parts of the page share. */
export class Editor {
  /** @type {Map<string, {control: import("../../components/controls.js").Control, label: string}>} the fields, by path */
  fields = new Map();
  /** @type {Map<string, any>} options of providers that are not chosen now */
  put_aside = new Map();
  saving = false;
  discarded = false;

  /** @param {string} name @param {any} form @param {Draft} draft @param {AbortSignal} signal */
  constructor(name, form, draft, signal) {
    this.name = name;
    this.form = form;
    this.draft = draft;
    this.signal = signal;
    this.devices = new Devices(signal);
    this.checker = new Checker(this);
  }

  /** Shows again beside the fields what is wrong, after some of them were drawn anew. */
  recheck() {
    queueMicrotask(() => {
      if (this.checker.result) showMistakes(this, this.checker.mistakes());
    });
  }

  /** Takes what the server has now. @param {any} content */
  stored(content) {
    this.draft.store(content);
  }
}

/** @param {import("../../app.js").PageContext} context @param {string} name */
export async function editor(context, name) {
  const { root, signal } = context;
  const back = () => h("a", { class: "back row", href: href(["profiles"]) }, icon("left"), t("nav.profiles"));
  fill(root, back(), loading());
  let profile;
  let form;
  try {
    [profile, form] = await Promise.all([get(`/profiles/${part(name)}`, {}, signal), get("/profiles/schema", {}, signal)]);
  } catch (error) {
    if (signal.aborted) return;
    const again = button(t("retry"), () => editor(context, name), { icon: "refresh" });
    return fill(root, back(), h("h1", null, name), notice("bad", h("p", null, /** @type {Error} */ (error).message), again));
  }
  const draft = new Draft(profile.content, kept.get(name));
  const returned = kept.delete(name) && draft.dirty;
  const shared = new Editor(name, form, draft, signal);
  const trial = deviceTrial(shared);
  const elsewhere = h("div", { class: "elsewhere" });
  const remove = button(t("profiles.remove"), async () => {
    if (!(await removeProfile(name, shared.devices, () => { shared.discarded = true; }))) return;
    draft.replace(draft.stored);
    go(["profiles"]);
  }, { icon: "trash", kind: "danger" });
  fill(
    root,
    back(),
    h("div", { class: "page-head" }, h("h1", null, name),
      h("div", { class: "row" }, button(t("profiles.file.save"), () => saveFile(name), { icon: "download" }), remove)),
    trial.banner,
    elsewhere,
    returned ? notice("info", h("p", null, t("profiles.returned"))) : null,
    h("div", { class: "profile-page" },
      h("div", { class: "stack short-form" }, ...shortForm(shared)),
      h("aside", { class: "stack", "aria-label": t("profiles.beside") }, trialCard(shared), trial.element),
      h("div", { class: "stack below" }, longForm(shared), assignCard(shared), accessPoint(`/profiles/${part(name)}`, signal), historyCard(shared))),
    saveBar(shared),
  );
  guard(shared);
  follow(shared, elsewhere);
}

/** Asks before unsaved changes are lost. @param {Editor} editor */
function guard(editor) {
  guardPlace(editor.signal, (leave) => {
    if (!editor.draft.dirty || login() === null) return true;
    void confirmed({
      title: t("profiles.leave.title", { name: editor.name }),
      text: t("profiles.leave.text"),
      act: t("profiles.leave.act"),
      run: () => { editor.discarded = true; },
    }).then((done) => { if (done) leave(); });
    return false;
  });
  addEventListener("beforeunload", (event) => { if (editor.draft.dirty) event.preventDefault(); }, { signal: editor.signal });
  editor.signal.addEventListener("abort", () => {
    if (editor.draft.dirty && !editor.discarded) kept.set(editor.name, editor.draft.content);
  }, { once: true });
}

/** Notices that the profile was changed by another console or a command. @param {Editor} editor @param {HTMLElement} place */
function follow(editor, place) {
  const { draft, name, signal } = editor;
  const gone = () => fill(place, notice("warn", h("p", null, t("profiles.elsewhere.removed"))));
  const read = async () => {
    if (editor.saving) return; // the answer to the saving says what is stored
    let found;
    try {
      found = await get(`/profiles/${part(name)}`, {}, signal);
    } catch (error) {
      if (!signal.aborted && !editor.discarded && /** @type {any} */ (error).status === 404) gone();
      return;
    }
    if (editor.saving || same(found.content, draft.stored)) return;
    if (!draft.dirty) {
      draft.replace(found.content);
      editor.stored(found.content);
      return fill(place, notice("info", h("p", null, t("profiles.elsewhere.shown")), button(t("close"), () => fill(place), { small: true })));
    }
    editor.stored(found.content);
    fill(place, notice("warn", h("p", null, t("profiles.elsewhere")), h("div", { class: "row" },
      button(t("profiles.elsewhere.reload"), () => {
        draft.replace(draft.stored);
        fill(place);
      }, { icon: "refresh", small: true }),
      button(t("profiles.elsewhere.keep"), () => fill(place), { small: true }))));
  };
  watch(signal, (event) => {
    if (event.type !== "changed" || event.about !== "profile" || event.key !== name) return;
    if (event.action !== "profile removed") void read();
    else if (!editor.discarded) gone();
  }, () => void read());
}
