// The device itself: its face, what it hears and says, its button, and the field to type in.

import { button, field } from "../../components/controls.js";
import { icon } from "../../components/icon.js";
import { fill, h, setText, uniqueId } from "../../lib/dom.js";
import { has, t } from "../../lib/i18n.js";
import { on } from "./on.js";

/** @typedef {import("../../talk/device.js").Device} Device */

/** The faces that the firmware can show; the server sends the emoji too. */
const FACES = /** @type {Record<string, string>} */ ({
  neutral: "😶", happy: "🙂", laughing: "😆", funny: "😂", sad: "😔", angry: "😠", crying: "😭", loving: "😍",
  embarrassed: "😳", surprised: "😲", shocked: "😱", thinking: "🤔", winking: "😉", cool: "😎", relaxed: "😌",
  delicious: "🤤", kissy: "😘", confident: "😏", sleepy: "😴", silly: "😜", confused: "🙄",
});

const MAX_TYPED = 2_000;
const LEVEL_ROOT = 0.35; // a soft voice moves the meter well

/** @param {Device} device @param {AbortSignal} signal */
export function stage(device, signal) {
  const id = uniqueId("stage");
  const face = h("div", { class: "talk-face" });
  const heard = h("p", { class: "talk-heard" });
  const said = h("p", { class: "talk-said" });
  const state = h("p", { class: "talk-state", role: "status" });
  const screen = h("div", { class: "talk-screen" }, face, heard, said);

  /** @param {string} name @param {string} [emoji] */
  const show = (name, emoji) => {
    face.setAttribute("role", "img");
    face.setAttribute("aria-label", t("talk.emotion", { name: has(`face.${name}`) ? t(`face.${name}`) : name }));
    setText(face, FACES[name] ?? (emoji || FACES.neutral));
    face.dataset.emotion = name;
  };
  const draw = () => {
    screen.dataset.state = device.state;
    setText(state, t(`talk.state.${device.state}`));
    screen.dataset.theme = device.hardware.theme;
    screen.style.filter = `brightness(${0.5 + device.hardware.brightness / 200})`;
  };
  show("happy");
  draw();
  device.hardware.addEventListener("changed", draw);
  on(device, "state", draw);
  on(device, "emotion", ({ name, emoji }) => show(name, emoji));
  on(device, "closed", () => show("sleepy"));
  on(device, "heard", (text) => {
    setText(heard, text);
    delete heard.dataset.partial;
    setText(said, "");
  });
  on(device, "said", ({ text }) => setText(said, text));
  on(device, "alert", ({ status, message, emotion }) => {
    show(emotion);
    setText(said, `${status}: ${message}`);
  });

  const element = h(
    "section",
    { class: "card talk-stage", "aria-labelledby": id },
    h("h2", { id, class: "visually-hidden" }, t("talk.stage")),
    screen,
    h("div", { class: "talk-status" }, state, meter(device)),
    buttons(device, signal),
    typing(device),
  );
  return {
    element,
    /** Shows words while they are being said. @param {string} text */
    partial(text) {
      if (device.state !== "listening") return;
      setText(heard, text);
      heard.dataset.partial = "";
      setText(said, "");
    },
  };
}

/** @param {Device} device */
function meter(device) {
  const bar = h("span");
  const element = h("div", { class: "talk-meter", role: "img", "aria-label": t("talk.level") }, bar);
  device.microphone.addEventListener("frame", (event) => {
    const { level } = /** @type {CustomEvent} */ (event).detail;
    const hears = device.state === "listening" || device.state === "thinking" || device.mode === "realtime";
    bar.style.scale = `${hears ? Math.min(1, level ** LEVEL_ROOT) : 0} 1`;
  });
  on(device, "state", () => {
    if (!device.microphone.isOpen) bar.style.scale = "0 1";
  });
  return element;
}

/** @param {Device} device @param {AbortSignal} signal */
function buttons(device, signal) {
  const main = h("button", { type: "button", class: "button primary talk-main" });
  const interrupt = button(t("talk.interrupt"), () => device.abort(), { icon: "stop" });
  const hint = h("p", { class: "hint" }, t("talk.hold.hint"));
  let held = false;
  let drawn = "";

  const draw = () => {
    const manual = device.mode === "manual";
    const active = manual ? held : device.conversing || device.state === "waiting";
    const words = manual ? (held ? "talk.release" : "talk.hold") : active ? "talk.stop" : "talk.start";
    interrupt.disabled = device.state !== "speaking";
    hint.hidden = !manual;
    if (drawn === words) return;
    drawn = words;
    main.dataset.active = String(active);
    fill(main, icon(active && !manual ? "stop" : "mic"), h("span", null, t(words)));
  };
  const down = () => {
    if (held || device.mode !== "manual") return;
    held = true;
    draw();
    void device.hold();
  };
  const up = () => {
    if (!held) return;
    held = false;
    draw();
    void device.release();
  };

  main.addEventListener("click", () => {
    if (device.mode === "manual") return;
    if (device.conversing || device.state === "waiting") device.stop();
    else void device.start();
    draw();
  });
  main.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || device.mode !== "manual") return;
    main.setPointerCapture(event.pointerId);
    down();
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) main.addEventListener(end, up);
  main.addEventListener("contextmenu", (event) => device.mode === "manual" && event.preventDefault()); // a long press

  const isKey = (/** @type {KeyboardEvent} */ event) => {
    const at = /** @type {Element} */ (event.target);
    if (at === main) return event.key === " " || event.key === "Enter";
    return event.key === " " && !at.closest("input, textarea, select, button, a, summary");
  };
  addEventListener(
    "keydown",
    (event) => {
      if (device.mode !== "manual" || !isKey(event)) return;
      event.preventDefault();
      if (!event.repeat) down();
    },
    { signal },
  );
  addEventListener("keyup", (event) => (event.key === " " || event.key === "Enter") && up(), { signal });
  addEventListener("blur", up, { signal });
  on(device, "state", draw);
  on(device, "microphone", draw);
  device.addEventListener("mode", draw);
  draw();
  return h("div", { class: "stack" }, h("div", { class: "talk-buttons" }, main, interrupt), hint);
}

/** @param {Device} device */
function typing(device) {
  const input = h("input", { type: "text", name: "words", autocomplete: "off", maxLength: MAX_TYPED, enterKeyHint: "send" });
  const send = button(t("talk.send"), null, { icon: "send", type: "submit", iconOnly: true });
  const form = h(
    "form",
    {
      class: "talk-typing",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        const text = input.value.trim();
        if (!text) return;
        input.value = "";
        void device.type(text);
      },
    },
    field(t("talk.type"), input),
    send,
  );
  const tries = [1, 2, 3, 4].map((each) => t(`talk.try.${each}`));
  return h(
    "div",
    { class: "stack" },
    form,
    h(
      "div",
      { class: "row talk-tries", role: "group", "aria-label": t("talk.try") },
      h("span", { class: "muted small", "aria-hidden": "true" }, t("talk.try")),
      ...tries.map((words) => button(words, () => device.type(words), { small: true })),
    ),
  );
}
