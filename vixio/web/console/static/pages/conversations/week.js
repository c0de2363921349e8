// The week in figures: charts by day, the slowest turns and what they waited for, tokens by profile.

import { SLOW_MS } from "../../components/bar.js";
import { Chart } from "../../components/chart.js";
import { button, card, loading, notice } from "../../components/controls.js";
import { ApiError, get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { dayName, duration, number, timeOfDay } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { poll } from "../../lib/poll.js";
import { href } from "../../lib/router.js";
import { momentLink } from "./moment.js";

const DAYS = 7;
const DAY_MS = 86_400_000;
const EVERY_MS = 60_000;
const NAMED = 5;

/** @typedef {{name: string, least: number, format: (value: number) => string, value: (day: any) => number | null}} Series */

/** @type {Series[]} */
const SERIES = [
  { name: "turns", least: 4, format: number, value: (day) => day.turns },
  { name: "bad", least: 4, format: number, value: bad },
  { name: "wait", least: 1_000, format: duration, value: (day) => day.wait_p50_ms },
];

/** @param {import("../../lib/devices.js").Devices} devices @param {AbortSignal} signal */
export function week(devices, signal) {
  const place = h("div", { class: "stack" }, loading());
  const ask = poll(signal, EVERY_MS, async () => {
    try {
      const [found] = await Promise.all([read(signal), devices.ready()]);
      if (!signal.aborted) draw(found);
    } catch (error) {
      if (signal.aborted) return;
      fill(place, notice("bad", h("p", null, /** @type {Error} */ (error).message), button(t("retry"), ask, { icon: "refresh" })));
    }
  });
  const charts = SERIES.map(({ name, least, format }) =>
    new Chart({ label: t(`conversations.${name}`), format, least, spanMs: (DAYS - 1) * DAY_MS }));
  const sum = h("p");
  const grid = h("div", { class: "charts" }, ...charts.map((each) => each.element));
  const slow = h("div", { class: "stack" });
  const tokens = h("div", { class: "stack" });
  const parts = h("div", { class: "grid" }, slow, tokens);
  return card(t("conversations.week"), place);

  /** @param {any} found */
  function draw(found) {
    const count = found.days.reduce((/** @type {number} */ all, /** @type {any} */ day) => all + day.turns, 0);
    const wrong = found.days.reduce((/** @type {number} */ all, /** @type {any} */ day) => all + bad(day), 0);
    fill(sum, count ? t("conversations.sum", { count: count === 1 ? 1 : number(count), bad: number(wrong) }) : t("conversations.sum.none"));
    const at = found.days.map((/** @type {any} */ day) => new Date(`${day.day}T12:00`).getTime());
    SERIES.forEach((each, index) => charts[index].show(at, found.days.map(each.value)));
    fill(slow, h("h3", null, t("conversations.slow")), slowest(found.slow.filter((/** @type {any} */ turn) => turn.wait_ms > SLOW_MS)));
    fill(tokens, h("h3", null, t("conversations.tokens")), counted(found.tokens.filter((/** @type {any} */ each) => each.input + each.output > 0)));
    if (sum.parentElement !== place) fill(place, sum, grid, parts); // a chart that is read keeps the focus
    grid.hidden = parts.hidden = !count;
  }

  /** @param {any[]} turns */
  function slowest(turns) {
    if (!turns.length) return h("p", { class: "muted" }, t("conversations.slow.none", { limit: duration(SLOW_MS) }));
    return h("ol", { class: "slow-turns" }, ...turns.slice(0, NAMED).map((turn) =>
      h("li", null,
        when(turn.at), " ", momentLink(devices, turn), t("list.of", { name: "", value: "" }),
        h("b", null, t("conversations.slow.part", { part: t(`stage.${turn.part}`).toLowerCase(), ms: duration(turn.part_ms), whole: duration(turn.wait_ms) })),
        turn.text ? h("p", { class: "small muted" }, turn.text) : null)));
  }
}

/** @param {any} day */
function bad(day) {
  return day.failed + day.tool_failed + day.not_understood;
}

/** @param {number} at */
function when(at) {
  const today = new Date(at).toDateString() === new Date().toDateString();
  return today ? timeOfDay(at) : `${dayName(at)} ${timeOfDay(at)}`;
}

/** @param {any[]} profiles */
function counted(profiles) {
  if (!profiles.length) return h("p", { class: "muted" }, t("conversations.tokens.none"));
  const name = (/** @type {any} */ each) =>
    each.profile ? h("a", { href: href(["conversations"], { profile: each.profile }) }, each.profile) : t("conversations.profile.none");
  const heads = ["profile", "turns", "read", "written"].map((each) => h("th", { scope: "col" }, t(`conversations.${each}`)));
  return h("div", { class: "scroll" },
    h("table", { class: "token-table" },
      h("thead", null, h("tr", null, ...heads)),
      h("tbody", null, ...profiles.map((each) =>
        h("tr", null, h("td", null, name(each)), h("td", null, number(each.turns)), h("td", null, number(each.input)), h("td", null, number(each.output)))))));
}

/** @param {AbortSignal} signal */
async function read(signal) {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  try {
    return await get("/statistics", { days: DAYS, zone: timeZone }, signal);
  } catch (error) {
    // A browser may call its zone by a name that the server's tables no longer have.
    if (error instanceof ApiError && error.status === 422) return get("/statistics", { days: DAYS }, signal);
    throw error;
  }
}
