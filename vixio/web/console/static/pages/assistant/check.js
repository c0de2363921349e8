// The last step: installs what is missing, tries every part, says how long a turn will take, saves.

import { stageBar } from "../../components/bar.js";
import { badge, button, notice } from "../../components/controls.js";
import { icon } from "../../components/icon.js";
import { toast } from "../../components/toast.js";
import { get } from "../../lib/api.js";
import { fill, h, setText } from "../../lib/dom.js";
import { listed, t } from "../../lib/i18n.js";
import { go, href } from "../../lib/router.js";
import { contentOf, forget } from "./answers.js";
import { Installer } from "./install.js";
import { choiceOf, choicesOf, entries, fasterThan, KINDS, missingOf, nameOf, present, SERVICE, secondsOf, shortSeconds, turnOf, usable } from "./parts.js";
import { lineOf, store as storeSettings } from "./save.js";
import { resultWords, tried, waitMs } from "./trial.js";

/** @typedef {import("./parts.js").Kind} Kind */

/** Where the guide ends: at the device. */
const END = ["add"];

/** @param {import("./guide.js").StepContext} context @returns {import("./guide.js").StepForm} */
export function check(context) {
  const { state, given, signal } = context;
  let { choices } = context;
  const installer = new Installer(signal);
  const rows = h("ul", { class: "parts" });
  const told = h("div", { class: "stack" });
  const status = h("p", { class: "visually-hidden", role: "status" });
  const save = button(t("assistant.save"), () => store(false), { kind: "primary", icon: "check" });
  const again = button(t("assistant.check.again"), () => run(), { icon: "refresh" });
  const anyway = button(t("assistant.save.anyway"), () => store(true));
  const foot = h("div", { class: "row" }, again, anyway, save);
  /** What could not be installed, such as `tts.joe`. @type {Set<string>} */
  const failedBefore = new Set();
  const parts = () => /** @type {Record<Kind, any>} */ (Object.fromEntries(KINDS.map((kind) => [kind, state.fixed[kind] ? state.in_force[kind] : given.parts[kind]])));

  /** @param {string} name @param {string} what @param {import("./guide.js").Step} step */
  function row(name, what, step) {
    const said = h("span", { class: "small" }, t("assistant.check.waits"));
    const mark = h("span");
    const change = h("a", { class: "button plain small", hidden: true, href: href(["assistant", "setup", step]) }, icon("edit"), h("span", null, t("assistant.change")));
    rows.append(h("li", { class: "part", "data-part": name },
      h("div", { class: "row spread" }, h("div", { class: "row" }, h("b", null, t(`assistant.${step}`)), h("span", null, what), mark), change), said));
    return {
      begin: () => setText(said, t("assistant.trying")),
      /** @param {"works" | "limited" | "fails"} how @param {string} words */
      end(how, words) {
        setText(said, words);
        fill(mark, badge(t(`assistant.check.${how}`), { works: "good", limited: "warn", fails: "bad" }[how]));
        change.hidden = how === "works";
      },
    };
  }

  async function run() {
    fill(rows);
    fill(told);
    foot.hidden = true;
    const sections = parts();
    try {
      if (!(await installed(sections))) return;
      const all = [
        ...KINDS.map((kind) => ({ part: /** @type {string} */ (kind), what: entries(sections[kind]).map((each) => nameOf(kind, each, choices)).join(" → "), step: kind })),
        ...Object.keys(given.servers).filter((name) => given.servers[name].enabled !== false).map((name) => ({ part: `mcp_servers.${name}`, what: name, step: /** @type {const} */ ("tools") })),
      ].map((each) => ({ ...each, row: row(each.part, each.what, each.step) }));
      let failed = 0;
      const speech = /** @type {Kind[]} */ ([]);
      for (const { part, step, row: shown } of all) {
        shown.begin();
        const result = await tried(part, contentOf(given, state), signal);
        // The phrase book is taken as what it is, also where it has no phrases.
        const mute = step === "agent" && sections.agent.name === "phrasebook" && !choices.phrasebook;
        const words = mute ? t("assistant.agent.phrasebook.mute") : step === "tools" && result.ok ? t("assistant.tools.has", { count: result.tools.length }) : resultWords(result);
        shown.end(mute ? "limited" : result.ok ? "works" : "fails", words);
        if (!result.ok && (step === "asr" || step === "tts") && !state.fixed[step]) speech.push(step);
        if (!result.ok) failed += mute ? 0 : 1;
        else if (step !== "tools") given.tried[step] = { of: JSON.stringify(sections[step]), seconds: waitMs(result) / 1000 };
      }
      setText(status, t(failed ? "assistant.check.failed" : "assistant.check.done"));
      const other = instead(speech, (kind) => present(kind, choices));
      if (failed) fill(told, notice("warn", h("p", null, t("assistant.check.failed")), other ? h("div", { class: "row" }, other) : null));
      else drawPace(sections);
      offer(failed > 0);
      if (failed) other?.focus();
    } catch (error) {
      if (signal.aborted) return;
      fill(told, notice("bad", h("p", null, /** @type {Error} */ (error).message)));
      offer(true);
    }
  }

  /**
   * A button that takes others in the place of what does not work; null: there are none.
   * @param {Kind[]} kinds @param {(kind: Kind) => import("./parts.js").Choice | undefined} other
   */
  function instead(kinds, other) {
    const sections = parts();
    const found = kinds.map((kind) => ({ kind, choice: other(kind) })).filter(({ kind, choice }) => choice && choice !== choiceOf(kind, sections[kind], choices));
    if (!found.length || found.length < kinds.length) return null;
    const names = listed(found.map(({ kind, choice }) => nameOf(kind, choice?.section, choices)));
    return button(t("assistant.install.instead", { names }), () => {
      for (const { kind, choice } of found) take(kind, /** @type {import("./parts.js").Choice} */ (choice));
      return run();
    });
  }

  /** Installs what is chosen and missing. Returns whether all is there. @param {Record<Kind, any>} sections */
  async function installed(sections) {
    const missing = missingOf(sections, choices);
    try {
      await installer.run(missing);
    } catch (error) {
      if (signal.aborted) throw error;
      choices = await get("/assistant/choices", { language: given.language }, signal); // a part of it may be there
      for (const each of missingOf(sections, choices)) failedBefore.add(each);
      const others = (/** @type {Kind} */ kind) => choicesOf(kind, choices).find((each) => each.name !== SERVICE && !each.installed && usable(each) && !failedBefore.has(`${kind}.${each.name}`));
      const kinds = KINDS.filter((kind) => missingOf(sections, choices).some((each) => each.startsWith(`${kind}.`)));
      const offers = [instead(kinds, (kind) => present(kind, choices) ?? others(kind)), instead(kinds, (kind) => others(kind) ?? present(kind, choices))]
        .filter((each, at, all) => each && each.textContent !== all[at - 1]?.textContent);
      fill(told, notice("bad", h("p", null, t("assistant.install.failed")), h("p", { class: "small" }, /** @type {Error} */ (error).message), offers.length ? h("div", { class: "row" }, ...offers) : null));
      offer(true);
      offers[0]?.focus();
      return false;
    }
    choices = await get("/assistant/choices", { language: given.language }, signal);
    return true;
  }

  /** @param {Kind} kind @param {import("./parts.js").Choice} choice */
  function take(kind, choice) {
    given.parts[kind] = choice.section;
    given.typed[kind].choice = choice.name;
    given.keep();
  }

  /** Says what a turn will take, and proposes what is faster. @param {Record<Kind, any>} sections */
  function drawPace(sections) {
    const stages = turnOf(sections, choices, given.tried);
    const free = (/** @type {Kind} */ kind) => !state.fixed[kind];
    const faster = fasterThan(sections, choices, given.tried);
    fill(told, h("p", null, t("assistant.pace", { seconds: shortSeconds(secondsOf(stages)) })), stageBar(stages));
    if (!faster || !free(faster.kind) || faster.choice.name === SERVICE) return;
    const names = { slow: nameOf(faster.kind, sections[faster.kind], choices), fast: nameOf(faster.kind, faster.choice.section, choices), seconds: shortSeconds(faster.seconds) };
    told.append(notice("warn", h("p", null, t("assistant.pace.slow", names)), h("div", { class: "row" }, button(t("assistant.pace.take", { name: names.fast }), () => {
      take(faster.kind, faster.choice);
      return run();
    }))));
  }

  /** @param {boolean} failed */
  function offer(failed) {
    foot.hidden = false;
    save.hidden = failed;
    anyway.hidden = !failed;
    if (!failed) save.focus();
  }

  /** @param {boolean} all also with parts that do not start */
  async function store(all) {
    const refused = await storeSettings(contentOf(given, state), state, all);
    if (refused) {
      fill(told, notice("bad", h("p", null, t("assistant.not-saved")), h("ul", null, ...refused.mistakes.map((each) => h("li", null, lineOf(each))))));
      if (refused.anyway) offer(true);
      return;
    }
    forget();
    toast(t("assistant.saved.toast"));
    go(END);
  }

  void run();
  return { element: h("div", { class: "stack" }, installer.element, rows, status, told), foot };
}
