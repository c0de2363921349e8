// The turns of today, and what went wrong with them.

import { button, notice } from "../../components/controls.js";
import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { t } from "../../lib/i18n.js";
import { poll } from "../../lib/poll.js";
import { href } from "../../lib/router.js";

const EVERY_MS = 60_000;
/** A day ends without an event. */

const GATHERED_MS = 2_000;
/** Turns that end within this time are counted together. */

const WRONG = ["not_understood", "failed", "tool_failed"];

/** @param {HTMLElement} place @param {AbortSignal} signal */
export function today(place, signal) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const ask = poll(signal, EVERY_MS, async () => {
    try {
      const { days } = await get("/statistics", { days: 1, zone }, signal);
      if (!signal.aborted) draw(days.at(-1));
    } catch (error) {
      if (signal.aborted) return;
      fill(place, notice("bad", h("p", null, error instanceof Error ? error.message : String(error)), button(t("retry"), ask, { icon: "refresh" })));
    }
  });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let planned;
  const plan = () => { planned ??= setTimeout(() => { planned = undefined; ask(); }, GATHERED_MS); };
  watch(signal, (event) => { if (event.type === "turn.ended") plan(); }, plan);
  signal.addEventListener("abort", () => clearTimeout(planned), { once: true });

  /** @param {any} day */
  function draw(day) {
    const wrong = WRONG.filter((each) => day[each]);
    fill(place,
      h("p", { class: "home-turns" }, day.turns ? t("home.turns", { count: day.turns }) : t("home.turns.none")),
      wrong.length
        ? h("p", { class: "row" }, ...wrong.map((each) =>
          h("a", { href: href(["conversations"], { outcome: each, day: day.day }) }, t(`home.${each}`, { count: day[each] }))))
        : day.turns ? h("p", { class: "muted" }, t("home.turns.well")) : null);
  }
}
