// The page "Assistant": the parts in force, changed, tried and saved together.

import { stageBar } from "../../components/bar.js";
import { badge, button, card, field, loading, notice, select, showError } from "../../components/controls.js";
import { confirmed, openDialog } from "../../components/dialog.js";
import { icon } from "../../components/icon.js";
import { time } from "../../components/time.js";
import { toast } from "../../components/toast.js";
import { get, post } from "../../lib/api.js";
import { fill, h, setText } from "../../lib/dom.js";
import { listed, t } from "../../lib/i18n.js";
import { guardPlace, href } from "../../lib/router.js";
import { login } from "../../lib/session.js";
import { Draft, differences } from "../profiles/draft.js";
import { reading } from "../server/reading.js";
import { fixedPlace, inForceWords } from "./fixed.js";
import { nothingTyped, partForm } from "./form.js";
import { Installer, showInstallation } from "./install.js";
import { choiceOf, entries, fasterThan, hostOf, KINDS, missingOf, nameOf, secondsOf, sectionIn, sectionOf, shortSeconds, turnOf } from "./parts.js";
import { pasteCard } from "./paste.js";
import { readyCards } from "./ready.js";
import { lineOf, store as storeSettings } from "./save.js";
import { toolsForm } from "./tools.js";
import { resultWords, tried, waitMs } from "./trial.js";

/** @typedef {import("./parts.js").Kind} Kind */

/** What the parts of the page share. */
class Settings {
  keys = /** @type {Map<string, string>} */ (new Map());
  listed = /** @type {Map<string, string[]>} */ (new Map());
  tried = /** @type {import("./parts.js").Tried} */ ({});
  /** What is wrong with a part, at its card. @type {Map<Kind, HTMLElement>} */
  wrong = new Map();
  /** The language of the choices, or of those that are being read. */
  #asked;

  /** @param {any} state of `GET /assistant` @param {any} choices @param {AbortSignal} signal */
  constructor(state, choices, signal) {
    this.state = state;
    this.choices = choices;
    this.first = choices; // of the stored language
    this.signal = signal;
    this.draft = new Draft(state.content);
    this.#asked = this.language;
    this.draft.addEventListener("change", () => void this.#speak().catch(showError), { signal });
  }

  get language() {
    return this.draft.at(["assistant", "language"]) ?? this.state.in_force.assistant?.language ?? "en";
  }

  /** @param {Kind} kind */
  section(kind) {
    return this.draft.at([kind]) ?? sectionIn({ ...this.state, content: {} }, kind);
  }

  parts() {
    return /** @type {Record<Kind, any>} */ (Object.fromEntries(KINDS.map((kind) => [kind, this.section(kind)])));
  }

  /** The draft with other sections. @param {Record<string, any>} more */
  content(more) {
    return { ...this.draft.content, ...more };
  }

  /** Reads what fits the language of the draft, when that is another one. */
  async #speak() {
    const { language } = this;
    if (language === this.#asked) return;
    this.#asked = language;
    const choices = await get("/assistant/choices", { language }, this.signal);
    if (language !== this.language) return;
    this.choices = choices;
    this.draft.dispatchEvent(new CustomEvent("change"));
  }

  /** @param {string} name */
  editable(name) {
    return this.state.editable && !this.state.fixed[name];
  }
}

/** @param {import("../../app.js").PageContext} context */
export async function overview({ root, signal }) {
  const place = h("div", { class: "stack" }, loading());
  const running = h("div", { class: "elsewhere" });
  fill(root,
    h("div", { class: "page-head" }, h("h1", null, t("nav.assistant")), h("a", { class: "button plain", href: href(["assistant", "setup"]) }, icon("refresh"), h("span", null, t("assistant.setup.again")))),
    h("p", { class: "muted" }, t("assistant.about")),
    running,
    place);
  const read = async () => {
    const state = await get("/assistant", {}, signal);
    return { state, choices: await get("/assistant/choices", { language: state.in_force.assistant?.language ?? "en" }, signal) };
  };
  const show = () => reading(place, signal, read, ({ state, choices }) => draw(place, new Settings(state, choices, signal), show));
  void showInstallation(running, signal, show);
  await show();
}

/** @param {HTMLElement} place @param {Settings} settings @param {() => Promise<void>} show reads all anew */
function draw(place, settings, show) {
  const { state } = settings;
  fill(
    place,
    state.editable ? null : notice("info", h("p", null, t("assistant.not-editable")), h("p", null, state.why_not)),
    state.problem ? notice("bad", h("p", null, t("assistant.problem")), h("p", null, state.problem)) : null,
    state.set_up || !state.editable ? null : notice("info", h("p", null, t("assistant.not-set-up")), h("div", { class: "row" }, h("a", { class: "button primary", href: href(["assistant", "setup"]) }, t("assistant.setup")))),
    h("div", { class: "assistant-page" },
      h("div", { class: "stack" }, languageCard(settings), ...KINDS.map((kind) => partCard(settings, kind)), ...readyCards(settings), toolsCard(settings), pasteCard(settings.signal)),
      h("aside", { class: "stack", "aria-label": t("assistant.turn") }, turnCard(settings))),
    saveBar(settings, show),
  );
  guardPlace(settings.signal, (leave) => {
    if (!settings.draft.dirty || login() === null) return true;
    void confirmed({ title: t("assistant.leave.title"), text: t("assistant.leave.text"), act: t("assistant.leave.act"), run: () => settings.draft.replace(settings.draft.stored) })
      .then((done) => { if (done) leave(); });
    return false;
  });
}

/** @param {Settings} settings @param {string} name @param {() => void} draw */
function follow(settings, name, draw) {
  let drawn = "";
  const look = () => {
    const now = JSON.stringify([settings.draft.at([name]) ?? null, settings.choices.language]);
    if (now === drawn) return;
    drawn = now;
    draw();
  };
  settings.draft.addEventListener("change", look, { signal: settings.signal });
  look();
}

/** @param {Settings} settings */
function languageCard(settings) {
  const { state, choices, draft } = settings;
  const place = state.fixed["assistant.language"];
  if (!settings.editable("assistant.language")) {
    return card(t("assistant.language"), h("p", null, inForceWords("language", state, choices)), place ? fixedPlace(place) : null);
  }
  const now = settings.language;
  const known = choices.languages.map((/** @type {any} */ each) => /** @type {[string, string]} */ ([each.tag, each.name]));
  const control = select(known.some((/** @type {[string, string]} */ [tag]) => tag === now) ? known : [[now, now], ...known], now, {
    onchange: () => draft.put(["assistant", "language"], control.value),
  });
  draft.addEventListener("change", () => { control.value = settings.language; }, { signal: settings.signal });
  return card(t("assistant.language"), field(t("assistant.language.label"), control, { hint: t("assistant.language.hint") }));
}

/** @param {Settings} settings @param {Kind} kind */
function partCard(settings, kind) {
  const { state, draft } = settings;
  const place = h("ol", { class: "order" });
  const wrong = h("p", { class: "field-error" });
  const fixed = state.fixed[kind];
  const editable = settings.editable(kind);
  settings.wrong.set(kind, wrong);
  const add = editable ? h("div", { class: "row" }, button(t("assistant.order.add"), () => ask(entries(settings.section(kind)).length, undefined), { small: true, icon: "plus" })) : null;

  /** @param {any[]} found */
  const put = (found) => draft.put([kind], sectionOf(kind, found, settings.section(kind)));

  /** Asks for the part at a place of the order. @param {number} at @param {any} value */
  async function ask(at, value) {
    const ending = new AbortController();
    const found = entries(settings.section(kind));
    const form = partForm(kind, {
      choices: settings.choices, value, keys: settings.keys, typed: nothingTyped(),
      signal: AbortSignal.any([settings.signal, ending.signal]), content: (section) => settings.content({ [kind]: section }),
    });
    await openDialog({
      title: t(`assistant.${kind}.question`),
      act: t("assistant.take"),
      run: async () => put([...found.slice(0, at), ...entries(await form.read()), ...found.slice(at + 1)]),
    }, form.element);
    ending.abort();
  }

  follow(settings, kind, () => {
    const { choices, first } = settings;
    setText(wrong, "");
    const found = entries(settings.section(kind));
    const deaf = !choiceOf(kind, settings.section(kind), choices) && choiceOf(kind, settings.section(kind), first);
    fill(place, ...found.map((entry, at) => {
      const name = nameOf(kind, entry, deaf ? first : choices);
      const about = [entry.model, entry.voice, entry.base_url ? hostOf(entry.base_url) : ""].filter((each) => typeof each === "string" && each && each !== name).join(" · ");
      const whole = choiceOf(kind, settings.section(kind), choices);
      return h("li", { class: "row spread" },
        h("div", { class: "stack-tight" },
          h("span", null, h("b", null, name), at ? [" ", badge(t("assistant.order.second"))] : null),
          about ? h("span", { class: "small muted" }, about) : null,
          !at && deaf ? h("span", { class: "small trouble" }, t("assistant.unfit")) : null,
          !at && whole && !whole.installed ? h("span", { class: "small" }, t("assistant.missing")) : null),
        editable
          ? h("div", { class: "row" },
            at ? button(t("assistant.order.up", { name }), () => put([...found.slice(0, at - 1), entry, found[at - 1], ...found.slice(at + 1)]), { small: true, icon: "up", iconOnly: true }) : null,
            found.length > 1 ? button(t("assistant.order.remove", { name }), () => put(found.filter((each) => each !== entry)), { small: true, icon: "trash", iconOnly: true }) : null,
            button(t("assistant.change"), () => ask(at, entry), { small: true, icon: "edit" }))
          : null);
    }));
  });
  const element = card(t(`assistant.${kind}`), place, wrong, fixed ? fixedPlace(fixed) : null, add);
  element.dataset.part = kind;
  return element;
}

/** @param {Settings} settings */
function toolsCard(settings) {
  const { state, choices, draft, signal } = settings;
  const fixedNames = Object.keys(state.in_force.mcp_servers ?? {}).filter((name) => state.fixed[`mcp_servers.${name}`] || state.fixed.mcp_servers);
  const form = toolsForm({
    servers: () => draft.at(["mcp_servers"]) ?? {},
    others: Object.fromEntries(fixedNames.map((name) => [name, state.in_force.mcp_servers[name]])),
    fixed: { ...state.fixed },
    content: (servers) => settings.content({ mcp_servers: servers }),
    change: (servers) => draft.put(["mcp_servers"], Object.keys(servers).length ? servers : undefined),
    home: choices.home_assistant.url, listed: settings.listed, editable: settings.editable("mcp_servers"), signal,
  });
  draft.addEventListener("change", form.draw, { signal });
  const element = card(t("assistant.tools"), form.element);
  element.dataset.part = "tools";
  return element;
}

/** What a turn takes here, and the trial of all parts before they are saved. @param {Settings} settings */
function turnCard(settings) {
  const { signal } = settings;
  const place = h("div", { class: "stack" });
  const results = h("ul", { class: "stack small" });
  const all = button(t("assistant.try.all"), run, { icon: "play" });
  settings.draft.addEventListener("change", drawTurn, { signal });
  drawTurn();

  function drawTurn() {
    const { choices } = settings;
    const parts = settings.parts();
    const stages = turnOf(parts, choices, settings.tried);
    const faster = fasterThan(parts, choices, settings.tried);
    fill(place,
      h("p", null, t("assistant.pace", { seconds: shortSeconds(secondsOf(stages)) }), unknown(parts) ? ` ${t("assistant.pace.more")}` : null),
      stageBar(stages.filter((each) => each.ms)),
      faster && settings.editable(faster.kind)
        ? notice("warn", h("p", null, t("assistant.pace.slow", { slow: inFront(faster.kind), fast: nameOf(faster.kind, faster.choice.section, choices), seconds: shortSeconds(faster.seconds) })))
        : null);
  }

  /** Whether it is not known what some service takes. @param {Record<Kind, any>} parts */
  function unknown(parts) {
    return KINDS.some((kind) => entries(parts[kind])[0]?.name === "openai" && settings.tried[kind]?.of !== JSON.stringify(parts[kind]));
  }

  /** @param {Kind} kind */
  function inFront(kind) {
    return nameOf(kind, entries(settings.section(kind))[0], settings.choices);
  }

  async function run() {
    fill(results);
    for (const kind of KINDS) {
      const said = h("span", { role: "status" }, t("assistant.trying"));
      const mark = h("span");
      results.append(h("li", { class: "stack-tight" }, h("span", { class: "row" }, h("b", null, t(`assistant.${kind}`)), mark), said));
      const section = settings.section(kind);
      const result = await tried(kind, settings.content({}), signal);
      fill(mark, badge(t(result.ok ? "assistant.check.works" : "assistant.check.fails"), result.ok ? "good" : "bad"));
      setText(said, resultWords(result));
      if (result.ok) settings.tried = { ...settings.tried, [kind]: { of: JSON.stringify(section), seconds: waitMs(result) / 1000 } };
      drawTurn();
    }
  }

  return card(t("assistant.turn"), place, h("p", { class: "hint" }, t("assistant.try.hint")), h("div", { class: "row" }, all), results);
}

/** What is not saved, and the undoing of the last change. @param {Settings} settings @param {() => Promise<void>} show */
function saveBar(settings, show) {
  const { draft, state } = settings;
  const words = h("p", { role: "status" });
  const wrong = h("ul", { class: "mistakes small" });
  const save = button(t("save"), () => store(false), { kind: "primary", icon: "check" });
  const discard = button(t("assistant.discard"), () => draft.replace(draft.stored), { icon: "undo" });
  const undo = button(t("assistant.undo"), async () => {
    await post("/assistant/undo");
    toast(t("assistant.undone"));
    await show();
  }, { icon: "undo" });
  const installer = new Installer(settings.signal);
  const bar = h("div", { class: "save-bar", role: "region", "aria-label": t("assistant.saving") }, h("div", { class: "stack grow" }, words, installer.element, wrong), h("div", { class: "row" }, undo, discard, save));

  const look = () => {
    const { dirty } = draft;
    bar.hidden = !state.editable || (!dirty && !state.can_undo);
    bar.dataset.dirty = String(dirty);
    save.hidden = discard.hidden = !dirty;
    undo.hidden = dirty;
    fill(wrong); // that was about another content
    const names = [...new Set(differences(draft.stored, draft.content).map((each) => each.path.split(/[.[]/)[0]))];
    if (dirty) setText(words, t("assistant.unsaved", { names: listed(names.map((each) => t(`assistant.section.${each}`))) }));
    else fill(words, t("assistant.saved"), " ", state.changed_at ? time(state.changed_at) : null);
  };
  draft.addEventListener("change", look, { signal: settings.signal });
  look();

  /** @param {boolean} all also with parts that do not start */
  async function store(all) {
    for (const place of settings.wrong.values()) setText(place, "");
    await installer.run(missingOf(settings.parts(), settings.choices));
    setText(words, t("assistant.trying"));
    const refused = await storeSettings(draft.content, state, all).finally(look);
    if (refused) {
      const anyway = refused.anyway ? h("li", null, button(t("assistant.save.anyway"), () => store(true), { small: true })) : null;
      fill(wrong, ...refused.mistakes.map((each) => h("li", null, lineOf(each))), anyway);
      for (const [kind, place] of settings.wrong) {
        setText(place, refused.mistakes.filter(({ path }) => path.split(/[.[]/)[0] === kind).map(({ message }) => message).join(" "));
      }
      return;
    }
    toast(t("assistant.saved.toast"));
    await show();
    /** @type {HTMLElement | null} */ (document.querySelector(".save-bar button:not([hidden])"))?.focus();
  }

  return bar;
}
