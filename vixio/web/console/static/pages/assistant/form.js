// The choice of one part: ears, model or voice. The guide and the page "Assistant" use the same.

import { button, field, select } from "../../components/controls.js";
import { post } from "../../lib/api.js";
import { h, setText } from "../../lib/dom.js";
import { has, t } from "../../lib/i18n.js";
import { Installer } from "./install.js";
import { choiceOf, choicesOf, entries, nameOf, proposed, SERVICE, shortSeconds, usable } from "./parts.js";
import { pick } from "./pick.js";
import { otherService, rowOf, ServiceFields, stop, URL_SERVICE } from "./service.js";
import { play, resultWords, tried } from "./trial.js";

/** @typedef {import("./parts.js").Kind} Kind */
/** @typedef {import("./parts.js").Choices} Choices */
/** @typedef {import("./service.js").Typed} Typed */

const PHRASEBOOK = "phrasebook";
const KEEP = "keep";

/**
 * @typedef {object} FormOptions
 * @property {Choices} choices
 * @property {Typed} typed what was typed before, which the form goes on with
 * @property {Map<string, string>} keys by address; never stored
 * @property {any} value the section that is there; undefined: none
 * @property {(section: any) => any} content what a trial is made with
 * @property {AbortSignal} signal
 * @property {() => void} [changed] something was typed
 */

/** @returns {Typed} */
export const nothingTyped = () => ({ choice: "", service: "", url: "", model: "" });

/**
 * A form for a part; `read` returns its section, and raises what `stop` returns if it cannot.
 * @param {Kind} kind @param {FormOptions} options
 * @returns {{element: HTMLElement, read: () => Promise<any>, focus: () => void}}
 */
export function partForm(kind, options) {
  const { choices, typed, value, signal, changed = () => undefined } = options;
  const fields = new ServiceFields(kind, typed, options.keys, entries(value)[0], signal, changed);
  const services = choices.services.filter((/** @type {any} */ each) => each[kind]);
  const which = select(services.map((/** @type {any} */ each) => [each.name, each.title]), typed.service || (entries(value)[0]?.name === "openai" ? rowOf(entries(value)[0], choices) : undefined));
  const whose = h("div", { class: "more-of", hidden: true }, field(t("assistant.service"), which));
  const audio = h("audio", { hidden: true });
  const installer = new Installer(signal);
  const said = h("span", { class: "small muted", role: "status" });
  const mine = h("div", { class: "row more-of", hidden: true }, button(t(kind === "tts" ? "assistant.listen" : "assistant.try"), async () => use(await fields.read(), said), { icon: "play", small: true }), said);
  signal.addEventListener("abort", () => audio.pause(), { once: true });

  const rows = kind === "agent" ? modelRows() : choicesOf(kind, choices).filter((each) => each.name !== SERVICE || services.length).map(choiceRow);
  const there = value === undefined ? "" : rowFor();
  if (there === KEEP) rows.push({ name: KEEP, title: t("assistant.keep", { name: entries(value).map((each) => nameOf(kind, each, choices)).join(" → ") }) });
  const standard = kind === "agent" ? PHRASEBOOK : proposed(kind, choices)?.name ?? "";
  const start = [typed.choice, there, standard].find((each) => rows.some((row) => row.name === each && !row.disabled)) ?? "";
  const list = pick(t(`assistant.${kind}.question`), rows, start, (name) => {
    typed.choice = name;
    draw();
    changed();
  });
  which.addEventListener("change", () => {
    typed.service = which.value;
    fields.show(service());
    changed();
  });

  /** Where the section that is there stands among the rows. */
  function rowFor() {
    if (kind === "agent") {
      const name = rowOf(value, choices);
      return !Array.isArray(value) && rows.some((row) => row.name === name) ? name : KEEP;
    }
    if (entries(value).length === 1 && services.some((/** @type {any} */ each) => each.name === rowOf(value, choices))) return SERVICE;
    return choiceOf(kind, value, choices)?.name ?? KEEP;
  }

  /** The service that is chosen; null: what is chosen needs none. @returns {import("./parts.js").Service | null} */
  function service() {
    const name = list.value();
    if (name === URL_SERVICE) return otherService();
    const wanted = kind === "agent" ? name : name === SERVICE ? which.value : "";
    return services.find((/** @type {any} */ each) => each.name === wanted) ?? null;
  }

  function draw() {
    whose.hidden = mine.hidden = kind === "agent" || list.value() !== SERVICE;
    setText(said, "");
    fields.show(service());
    list.under(...(kind === "agent" ? [fields.element] : [whose, fields.element, mine]));
  }

  async function read() {
    const name = list.value();
    if (!name) throw stop();
    if (name === KEEP) return value;
    if (name === there && !service()) return value; // with its further options, and what stands in for it
    if (name === PHRASEBOOK && kind === "agent") return { name: PHRASEBOOK };
    if (service()) return fields.read();
    return choicesOf(kind, choices).find((each) => each.name === name)?.section;
  }

  function modelRows() {
    const found = services.map((/** @type {import("./parts.js").Service} */ each) => {
      const state = h("span", { class: "small muted", role: "status" });
      if (each.name === "ollama") void look(each, state);
      const about = each.needs_key ? t("assistant.needs-account") : t("assistant.this-machine");
      return { name: each.name, title: each.title, about: [about, each.name === "ollama" ? [" ", state] : null].flat() };
    });
    const about = [t(`assistant.agent.${PHRASEBOOK}.about`), !choices.phrasebook ? ` ${t("assistant.agent.phrasebook.mute")}` : null];
    return [
      { name: PHRASEBOOK, title: t(`assistant.agent.${PHRASEBOOK}`), about }, ...found,
      { name: URL_SERVICE, title: t("assistant.service.other"), about: [t("assistant.service.other.about")] },
    ];
  }

  /** Says whether models are there. @param {import("./parts.js").Service} each @param {HTMLElement} state */
  async function look(each, state) {
    try {
      const { models } = await post("/assistant/models", { base_url: each.base_url, api_key: "" }, { signal });
      setText(state, models ? t("assistant.ollama.there", { count: models.length }) : t("assistant.ollama.none"));
      // What answers without an account in a language that the phrase book does not know.
      if (models?.length && !choices.phrasebook && !there && !typed.choice) list.choose(each.name);
    } catch {
      setText(state, t("assistant.ollama.none"));
    }
  }

  /** @param {import("./parts.js").Choice} choice @returns {import("./pick.js").Row} */
  function choiceRow(choice) {
    const key = `assistant.${kind}.${choice.name}`;
    const about = [
      has(`${key}.about`) ? t(`${key}.about`) : null,
      choice.wait_s >= 0.05 ? ` ${t("assistant.wait", { seconds: shortSeconds(choice.wait_s) })}` : null,
      choice.installed || choice.name === SERVICE ? null : choice.can_install ? ` ${t("assistant.installed-later")}` : h("code", null, ` ${choice.remedy}`),
    ];
    const title = has(key) ? t(key) : choice.name;
    const row = { name: choice.name, title, about, disabled: choice.name !== SERVICE && !usable(choice) };
    if (row.disabled || !choice.section) return row;
    const said = h("span", { class: "small muted", role: "status" });
    const act = button(t(kind === "tts" ? "assistant.listen" : "assistant.try"), () => use(choice.section, said, choice), { icon: "play", small: true });
    act.setAttribute("aria-label", t(kind === "tts" ? "assistant.listen.to" : "assistant.try.this", { name: title }));
    return { ...row, more: [said, act] };
  }

  /**
   * Uses a part once; a voice is heard.
   * @param {any} section @param {HTMLElement} said @param {import("./parts.js").Choice} [choice]
   */
  async function use(section, said, choice) {
    if (choice && !choice.installed) {
      await installer.run([`${kind}.${choice.name}`]);
      choice.installed = true;
    }
    setText(said, t("assistant.trying"));
    try {
      const result = await tried(kind, options.content(section), signal);
      setText(said, resultWords(result));
      if (result.sound) await play(result.sound, audio);
    } catch (error) {
      setText(said, "");
      throw error;
    }
  }

  draw();
  return {
    element: h("div", { class: "stack" }, list.element, installer.element, audio),
    read,
    focus: () => list.focus(),
  };
}
