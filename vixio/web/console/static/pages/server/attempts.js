// What became of offers of firmware, as it happens.

import { badge, button, empty, notice } from "../../components/controls.js";
import { time } from "../../components/time.js";
import { get } from "../../lib/api.js";
import { devicesById } from "../../lib/devices.js";
import { fill, h } from "../../lib/dom.js";
import { number } from "../../lib/format.js";
import { has, t } from "../../lib/i18n.js";
import { deviceName } from "../../lib/names.js";
import { ownWords } from "../../lib/problems.js";
import { href } from "../../lib/router.js";

const SHOWN = 100;

/** @type {Record<string, string>} */
export const ATTEMPT_KINDS = { installed: "good", failed: "bad", downloading: "accent", downloaded: "accent" };

/** @param {string} state */
export function attemptState(state) {
  return has(`server.attempt.${state}`) ? t(`server.attempt.${state}`) : state;
}

/**
 * @param {HTMLElement} place @param {AbortSignal} signal
 * @returns {{receive: (event: any) => void, read: () => Promise<void>}}
 */
export function attempts(place, signal) {
  /** @type {any[]} */
  let all = [];
  /** @type {Map<string, any>} */
  let devices = new Map();
  let stale = false;
  let reads = false;
  const read = async () => {
    if (reads) {
      stale = true;
      return;
    }
    reads = true;
    try {
      do {
        stale = false;
        const found = await get("/firmware/attempts", { limit: SHOWN }, signal);
        all = found.attempts;
        if (all.some((each) => !devices.has(each.device_id))) devices = await devicesById(signal);
      } while (stale && !signal.aborted);
      draw();
    } catch (error) {
      if (signal.aborted) return;
      fill(place, notice("bad", h("p", null, /** @type {Error} */ (error).message), button(t("retry"), read, { icon: "refresh" })));
    } finally {
      reads = false;
    }
  };
  void read();
  return { receive, read };

  /** @param {any} event */
  function receive(event) {
    const known = all.find((each) => each.id === event.attempt);
    if (!known || event.type === "firmware.offered") return void read(); // with its size and its times
    known.state = event.state;
    known.reason = event.reason ?? "";
    if (event.sent !== undefined) known.sent = event.sent;
    if (event.type === "firmware.ended") known.ended_at = event.at;
    draw();
  }

  function draw() {
    if (signal.aborted) return;
    if (!all.length) return fill(place, empty(t("server.attempts.none")));
    fill(place, h("ul", { class: "entries" }, ...all.map((each) =>
      h("li", { class: "entry", "data-attempt": each.id },
        h("div", { class: "grow" },
          h("p", { class: "row" },
            h("a", { href: href(["device", each.device_id]), title: each.device_id }, deviceName(devices, each.device_id)),
            badge(state(each), ATTEMPT_KINDS[each.state] ?? ""),
            each.forced ? badge(t("server.release.forced"), "warn") : null),
          h("p", { class: "small muted" }, t("server.attempt.versions", { board: each.board, from: each.from_version, to: each.version }), " · ", time(each.ended_at ?? each.offered_at)),
          each.reason ? h("p", { class: "small trouble" }, ownWords(each.reason)) : null)))));
  }
}

/** @param {any} attempt */
function state(attempt) {
  const words = attemptState(attempt.state);
  if (attempt.state !== "downloading" || !attempt.size) return words;
  return `${words} ${number(attempt.sent / attempt.size, { style: "percent" })}`;
}
