// A conversation in writing with the draft, before it is saved.

import { button, card, field, notice } from "../../components/controls.js";
import { toast } from "../../components/toast.js";
import { turnElement } from "../../components/turn.js";
import { part, post, request } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { same } from "./draft.js";

const ANSWER_MS = 130_000;
/** The server gives an answer 120 s. */

/** @param {import("./editor.js").Editor} editor */
export function trialCard(editor) {
  const chat = h("div", { class: "trial-chat", role: "log", "aria-label": t("profiles.try"), tabIndex: 0 });
  const hint = h("p", { class: "muted small" }, t("profiles.try.hint"));
  const input = h("input", { type: "text", maxLength: 4_000, autocomplete: "off", required: true });
  const send = button(t("profiles.try.send"), null, { icon: "send", kind: "primary", type: "submit" });
  /** @type {{id: string, content: any} | null} */
  let trial = null;
  let number = 0;
  let asking = false;

  const end = (keepalive = false) => {
    const old = trial;
    trial = null;
    if (old) void request("DELETE", `/trials/${part(old.id)}`, { keepalive }).catch(() => undefined); // it may have ended by itself
  };
  editor.signal.addEventListener("abort", () => end(), { once: true });
  addEventListener("pagehide", () => end(true), { signal: editor.signal });

  /** The trial of the draft as it is. */
  async function current() {
    if (trial && same(trial.content, editor.draft.content)) return trial;
    const content = structuredClone(editor.draft.content);
    if (trial) {
      end();
      chat.append(h("p", { class: "small muted divider" }, t("profiles.try.renewed")));
    }
    const opened = await post("/trials", { content }, { signal: editor.signal });
    trial = { id: opened.trial, content };
    return trial;
  }

  /** @param {string} text @returns {Promise<any>} */
  async function ask(text) {
    const now = await current();
    try {
      return await post(`/trials/${part(now.id)}`, { text }, { signal: editor.signal, timeout: ANSWER_MS });
    } catch (error) {
      if (/** @type {any} */ (error).status !== 404) throw error;
      trial = null; // it ended after a pause: begin anew
      chat.append(h("p", { class: "small muted divider" }, t("profiles.try.expired")));
      return post(`/trials/${part((await current()).id)}`, { text }, { signal: editor.signal, timeout: ANSWER_MS });
    }
  }

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    const text = input.value.trim();
    if (!text || asking) return;
    if (editor.checker.mistakes().length) return toast(t("profiles.try.invalid"), "bad");
    asking = true;
    send.setAttribute("aria-busy", "true");
    hint.remove();
    input.value = "";
    number += 1;
    /** @type {import("../../lib/turns.js").Turn} */
    const turn = {
      key: `trial/${number}`, session: "trial", turn: number, at: Date.now(), heard: text, guess: "", partial: false, sentences: [], cut: "",
      interrupted: false, outcome: "", errors: [], stages: {}, tools: [], models: [], sound: 0, over: false,
    };
    const element = turnElement(turn);
    const show = () => {
      element.show({ ...turn });
      chat.scrollTop = chat.scrollHeight;
    };
    chat.append(element);
    show();
    try {
      const answer = await ask(text);
      turn.sentences = answer.text ? [{ text: answer.text, done: true, filler: false }] : [];
      turn.tools = answer.tools.map((/** @type {any} */ each, /** @type {number} */ at) => ({ ...each, id: String(at) }));
      turn.models = answer.models;
      turn.stages = { transcript: 0, ...answer.stages };
      turn.outcome = answer.outcome;
      turn.over = true;
      show();
      if (answer.ended) chat.append(h("p", { class: "small muted divider" }, t("profiles.try.ended")));
    } catch (error) {
      if (editor.signal.aborted) return;
      turn.over = true;
      show();
      chat.append(notice("bad", h("p", null, /** @type {Error} */ (error).message)));
    } finally {
      asking = false;
      send.removeAttribute("aria-busy");
      chat.scrollTop = chat.scrollHeight;
    }
  }

  fill(chat, hint);
  return card(t("profiles.try"),
    chat,
    h("form", { class: "add-row", onsubmit: submit }, field(t("profiles.try.text"), input), send));
}
