// What is wrong, and what to do about it: one notice of each kind.

import { button, notice } from "../../components/controls.js";
import { h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { href } from "../../lib/router.js";
import { login } from "../../lib/session.js";
import { on } from "./on.js";

const STOPPING = 1001;
const REPLACED = 4001;
const LOST = 1006;

/** @param {import("../../talk/device.js").Device} device */
export function notices(device) {
  const place = h("div", { class: "stack talk-notices" });
  /** @type {Map<string, HTMLElement>} */
  const shown = new Map();

  /** @param {string} kind @param {HTMLElement} element */
  const show = (kind, element) => {
    clear(kind);
    shown.set(kind, element);
    place.append(element);
  };
  /** @param {...string} kinds */
  const clear = (...kinds) => {
    for (const kind of kinds) {
      shown.get(kind)?.remove();
      shown.delete(kind);
    }
  };

  on(device, "microphone", (problem) => show("microphone", notice("warn", h("p", { "data-problem": problem }, microphoneWords(problem)))));
  on(device, "code", (code) => show("server", codeNotice(code)));
  on(device, "refused", (reason) => show("server", notice("bad", h("p", null, t("talk.refused", { reason: reason || t("talk.refused.plain") })))));
  on(device, "failed", (why) => show("server", notice("bad", h("p", null, t(`talk.failed.${why}`)))));
  on(device, "closed", ({ code, reason }) => show("closed", notice("info", h("p", null, closedWords(code, reason)))));
  on(device, "held", (held) => {
    clear("held");
    if (!held || device.state === "asleep") return;
    const act = button(t("talk.held.act"), () => device.player?.resume(), { icon: "volume" });
    show("held", notice("warn", h("p", null, t("talk.held")), h("div", null, act)));
  });
  on(device, "state", () => {
    if (device.state === "connecting") clear("server", "closed");
    if (device.state === "idle") clear("server");
    if (device.state === "listening") clear("microphone");
  });
  device.microphone.addEventListener("frame", (event) => {
    const { level } = /** @type {CustomEvent} */ (event).detail;
    if (level > 0.001 && shown.get("microphone")?.querySelector('[data-problem="silent"]')) clear("microphone");
  });
  if (!isSecureContext) show("microphone", notice("warn", h("p", { "data-problem": "insecure" }, microphoneWords("insecure"))));
  return place;
}

/** @param {string} problem */
function microphoneWords(problem) {
  const port = location.port ? `:${location.port}` : "";
  return t(`talk.mic.${problem}`, { local: `http://localhost${port}${location.pathname}` });
}

/** @param {string} code */
function codeNotice(code) {
  return notice(
    "info",
    h("p", { class: "talk-code-title" }, t("talk.code.title")),
    h("p", { class: "talk-code" }, code),
    h("p", null, t("talk.code.text", { code })),
    login() ? null : h("div", null, h("a", { class: "button plain", href: href(["login"], { to: "/talk" }) }, t("sign-in"))),
  );
}

/** @param {number} code of the WebSocket @param {string} reason */
function closedWords(code, reason) {
  if (code === 1000) return t("talk.closed.over");
  if (code === REPLACED) return t("talk.closed.replaced");
  if (code === STOPPING) return t(reason.startsWith("nothing heard") ? "talk.closed.idle" : "talk.closed.stopping");
  if (code === LOST) return t("talk.closed.lost");
  return t("talk.closed.other", { reason: reason || String(code) });
}
