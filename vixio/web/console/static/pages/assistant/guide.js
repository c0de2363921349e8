// The guide: what `vixio setup` asks, one question at a time. Each has its own address, so that the
// browser's way back is the way back.

import { busy, button, field, loading, notice, setFieldError } from "../../components/controls.js";
import { icon } from "../../components/icon.js";
import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { go, href } from "../../lib/router.js";
import { unreadable } from "../server/reading.js";
import { answers, contentOf } from "./answers.js";
import { check } from "./check.js";
import { partForm } from "./form.js";
import { fixedNotice } from "./fixed.js";
import { KINDS, proposed, sectionIn } from "./parts.js";
import { pick } from "./pick.js";
import { stop } from "./service.js";
import { toolsForm } from "./tools.js";

/** @typedef {import("./parts.js").Kind} Kind */

export const STEPS = /** @type {const} */ (["language", "asr", "agent", "tts", "tools", "check"]);

/** @typedef {typeof STEPS[number]} Step */

/** A tag as the settings take it. */
const TAG = /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/;

const OTHER = "";

/**
 * What a step is made with. `next` goes on to the following one.
 *
 * @typedef {object} StepContext
 * @property {any} state of `GET /assistant` @property {any} choices @property {AbortSignal} signal
 * @property {import("./answers.js").Answers} given @property {(step: Step) => void} to
 */

/** @typedef {{element: HTMLElement, read?: () => unknown, focus?: () => void, foot?: HTMLElement}} StepForm `foot` in the place of the button Next */

/** @param {import("../../app.js").PageContext} context @param {string} name of the step */
export async function guide(context, name) {
  const { root, signal, title } = context;
  const at = Math.max(0, STEPS.indexOf(/** @type {Step} */ (name)));
  const step = STEPS[at];
  title(t("assistant.setup"));
  const heading = h("h1", null, t(`assistant.${step}.question`));
  fill(root, heading, loading());
  const given = answers();
  let state;
  let choices;
  try {
    state = await get("/assistant", {}, signal);
    given.begin(state);
    given.language ||= firstLanguage(state);
    choices = await get("/assistant/choices", { language: given.language }, signal);
  } catch (error) {
    if (!signal.aborted) unreadable(root, error, () => guide(context, name));
    return;
  }
  if (!state.editable) {
    return fill(root, h("h1", null, t("assistant.setup")), notice("info", h("p", null, state.why_not)), h("a", { href: href(["assistant"]) }, t("nav.assistant")));
  }
  const to = (/** @type {Step} */ step) => go(["assistant", "setup", step]);
  const stepContext = { state, choices, signal, given, to };
  fillIn(stepContext, at);
  const form = make(step, stepContext);
  const next = form.read ? button(t("assistant.next"), null, { kind: "primary", type: "submit" }) : null;
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!next) return;
    await busy(next, async () => {
      await form.read?.();
      given.keep();
      to(STEPS[at + 1]);
    });
  };
  fill(
    root,
    h("div", { class: "guide stack" },
      progress(at),
      heading,
      h("p", { class: "muted" }, t(`assistant.${step}.text`)),
      h("form", { class: "stack", "data-step": step, noValidate: true, onsubmit: submit },
        form.element,
        h("div", { class: "row spread guide-foot" },
          at ? h("a", { class: "button plain", href: href(["assistant", "setup", STEPS[at - 1]]) }, icon("left"), h("span", null, t("assistant.back"))) : h("a", { href: href(["home"]) }, t("assistant.later")),
          form.foot ?? next))),
  );
  if (form.focus) form.focus();
  else next?.focus();
}

/** @param {number} at */
function progress(at) {
  return h("div", { class: "guide-progress" },
    h("p", { class: "small muted" }, t("assistant.step", { number: at + 1, count: STEPS.length })),
    h("div", { class: "guide-dots", "aria-hidden": "true" }, ...STEPS.map((_, index) => h("span", { class: index < at ? "done" : index === at ? "now" : "" }))));
}

/** The language that is proposed: of the settings, or of the browser. @param {any} state */
function firstLanguage(state) {
  if (state.content.assistant?.language || state.fixed["assistant.language"]) return state.in_force.assistant.language;
  return navigator.language || "en";
}

/** Takes what is proposed for the questions that were passed over, as by a link. @param {StepContext} context @param {number} at */
function fillIn({ state, choices, given }, at) {
  for (const kind of KINDS.filter((each) => STEPS.indexOf(each) < at)) {
    const now = sectionIn(state, kind);
    given.parts[kind] ??= state.set_up ? now : proposed(kind, choices)?.section ?? now;
  }
}

/** @param {Step} step @param {StepContext} context @returns {StepForm} */
function make(step, context) {
  const { state } = context;
  const place = state.fixed[step === "language" ? "assistant.language" : step === "tools" ? "mcp_servers" : step];
  if (place) return { element: fixedNotice(step, place, state, context.choices), read: () => undefined };
  if (step === "language") return languageForm(context);
  if (step === "tools") return tools(context);
  if (step === "check") return check(context);
  const { choices, given, signal } = context;
  const form = partForm(step, {
    choices, signal, typed: given.typed[step], keys: given.keys,
    value: given.parts[step] ?? (state.set_up ? sectionIn(state, step) : undefined),
    content: (section) => contentOf(given, state, { [step]: section }),
    changed: () => given.keep(),
  });
  return {
    ...form,
    async read() {
      given.parts[step] = await form.read();
    },
  };
}

/** @param {StepContext} context @returns {StepForm} */
function languageForm({ choices, given, state }) {
  const stored = state.in_force.assistant.language;
  const base = (/** @type {string} */ tag) => tag.split("-")[0].toLowerCase();
  const known = choices.languages.find((/** @type {any} */ each) => base(each.tag) === base(given.language));
  const rows = [...choices.languages.map((/** @type {any} */ each) => ({ name: each.tag, title: each.name })), { name: OTHER, title: t("assistant.language.other") }];
  const list = pick(t("assistant.language.question"), rows, known?.tag ?? OTHER, draw);
  list.element.classList.add("columns");
  const tag = h("input", { type: "text", autocomplete: "off", spellcheck: false, maxLength: 40, value: known ? "" : given.language });
  const other = field(t("assistant.language.tag"), tag, { hint: t("assistant.language.tag.hint") });
  function draw() {
    other.hidden = list.value() !== OTHER;
  }
  draw();
  return {
    element: h("div", { class: "stack" }, list.element, other),
    focus: list.focus,
    read() {
      const typed = list.value() || tag.value.trim();
      const wrong = !TAG.test(typed);
      setFieldError(tag, wrong ? t("assistant.language.wrong") : "");
      if (wrong) {
        tag.focus();
        throw stop();
      }
      const chosen = list.value() === known?.tag && given.language === stored ? stored : typed; // such as de-AT
      if (base(chosen) !== base(given.language)) { // what suited another language is asked anew
        for (const kind of /** @type {Kind[]} */ (["asr", "tts"])) {
          delete given.parts[kind];
          given.typed[kind].choice = "";
        }
      }
      given.language = chosen === "zh" ? "zh-CN" : chosen;
    },
  };
}

/** @param {StepContext} context @returns {StepForm} */
function tools(context) {
  const { state, given, choices, signal } = context;
  const others = Object.fromEntries(Object.entries(state.in_force.mcp_servers ?? {}).filter(([name]) => state.fixed[`mcp_servers.${name}`]));
  const form = toolsForm({
    servers: () => given.servers, others, fixed: state.fixed, home: choices.home_assistant.url, listed: given.listed, editable: true, signal,
    content: (servers) => contentOf(given, state, { mcp_servers: servers }),
    change(servers) {
      given.servers = servers;
      given.keep();
    },
  });
  const mute = given.parts.agent?.name === "phrasebook";
  return {
    element: h("div", { class: "stack" }, form.element, mute ? h("p", { class: "small muted" }, t("assistant.tools.need-model")) : null),
    read: () => undefined,
  };
}
