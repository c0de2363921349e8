// For engineers: who this browser is, and the messages as they come and go.

import { card } from "../../components/controls.js";
import { fill, h, setText } from "../../lib/dom.js";
import { clock } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { on } from "./on.js";

const MAX_LINES = 200;
const MAX_CHARS = 2_000;

/** @typedef {{at: number, outgoing: boolean, text: string, packets: number, bytes: number}} Line `packets` 0: a message */

/** @param {import("../../talk/device.js").Device} device */
export function details(device) {
  /** @type {Line[]} */
  const lines = [];
  const list = h("ol", { class: "talk-raw mono", tabIndex: 0, "aria-label": t("talk.details.messages") });
  const codec = h("dd");
  const dropped = h("dd");
  const fold = h(
    "details",
    { class: "stack" },
    h("summary", null, t("talk.details.summary")),
    h(
      "div",
      { class: "stack" },
      h(
        "dl",
        null,
        h("dt", null, t("talk.details.id")),
        h("dd", { class: "mono" }, device.who.id),
        h("dt", null, t("talk.details.client")),
        h("dd", { class: "mono" }, device.who.client),
        h("dt", null, t("talk.details.codec")),
        codec,
        h("dt", null, t("talk.details.dropped")),
        dropped,
      ),
      list,
    ),
  );

  let waiting = false;
  /** Draws once a frame, and only what can be seen. */
  const draw = () => {
    if (waiting || !fold.open) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      setText(codec, t(`talk.details.codec.${device.codec || "none"}`));
      setText(dropped, String(device.player?.dropped ?? 0));
      const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
      fill(list, ...lines.map(row));
      if (atEnd) list.scrollTop = list.scrollHeight;
    });
  };
  fold.addEventListener("toggle", draw);
  on(device, "message", ({ message, outgoing }) => {
    take(lines, message, outgoing);
    draw();
  });
  on(device, "state", draw);
  return card(t("talk.details"), fold);
}

/** @param {Line[]} lines @param {any} message @param {boolean} outgoing */
function take(lines, message, outgoing) {
  const last = lines.at(-1);
  const audio = typeof message === "number";
  if (audio && last?.packets && last.outgoing === outgoing) {
    last.packets += 1;
    last.bytes += message;
    return;
  }
  const text = audio ? "" : JSON.stringify(message, hide).slice(0, MAX_CHARS);
  lines.push({ at: Date.now(), outgoing, text, packets: audio ? 1 : 0, bytes: audio ? message : 0 });
  if (lines.length > MAX_LINES) lines.shift();
}

/** Tokens are not for screenshots. @param {string} key @param {any} value */
function hide(key, value) {
  return key === "token" ? "…" : value;
}

/** @param {Line} line */
function row({ at, outgoing, text, packets, bytes }) {
  const words = packets ? t("talk.details.audio", { count: packets, bytes }) : text;
  return h("li", { "data-outgoing": String(outgoing) }, h("span", { class: "muted" }, `${clock(at)} ${outgoing ? "↑" : "↓"} `), words);
}
