// The conversation so far: the last entries.

import { card } from "../../components/controls.js";
import { h, setText } from "../../lib/dom.js";
import { clock, duration } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { on } from "./on.js";

const MAX_ENTRIES = 100;

/** @param {import("../../talk/device.js").Device} device */
export function conversation(device) {
  const list = h("ol", { class: "talk-log", tabIndex: 0, "aria-label": t("talk.log") });
  const nothing = h("p", { class: "muted" }, t("talk.log.empty"));
  /** @type {{element: HTMLElement, text: HTMLElement} | null} the answer that is being given */
  let answer = null;

  /** @param {"you" | "assistant" | "tool" | "note"} who @param {string} words */
  const add = (who, words) => {
    nothing.hidden = true;
    const text = h("p", { class: who === "tool" ? "mono" : null }, words);
    const element = h(
      "li",
      { "data-who": who },
      h("p", { class: "talk-who" }, h("b", null, t(`talk.${who}`)), h("time", null, clock(Date.now()))),
      text,
    );
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    list.append(element);
    while (list.childElementCount > MAX_ENTRIES) list.firstElementChild?.remove();
    if (atEnd) list.scrollTop = list.scrollHeight;
    return { element, text };
  };

  on(device, "heard", (text) => {
    answer = null;
    add("you", text);
  });
  on(device, "said", ({ text, first }) => {
    if (first || !answer) answer = add("assistant", text);
    else setText(answer.text, join(answer.text.textContent ?? "", text));
    list.scrollTop = list.scrollHeight;
  });
  on(device, "latency", (ms) => {
    if (!answer) return;
    const words = t("talk.latency", { time: duration(ms) });
    answer.element.append(h("p", { class: "talk-latency small muted", "data-ms": Math.round(ms) }, words));
    list.scrollTop = list.scrollHeight;
  });
  on(device, "alert", ({ status, message }) => add("note", `${status}: ${message}`));
  device.mcp.addEventListener("call", (event) => {
    const call = /** @type {CustomEvent} */ (event).detail;
    const { element } = add("tool", `${call.name}(${JSON.stringify(call.arguments)})`);
    element.append(h("p", { class: "mono muted talk-result" }, `→ ${call.error ?? call.result} · ${duration(call.ms)}`));
    list.scrollTop = list.scrollHeight;
  });
  return card(t("talk.log"), nothing, list);
}

/** Puts sentences together; Chinese ones without a space. @param {string} before @param {string} text */
function join(before, text) {
  return /[\u3000-\u9fff\uff00-\uffef]$/.test(before) ? before + text : `${before} ${text}`;
}
