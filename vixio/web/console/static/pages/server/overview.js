// How the server is: its facts, the address for devices, and the load of the last hour.

import { badge, card } from "../../components/controls.js";
import { Chart } from "../../components/chart.js";
import { otaAddress } from "../../components/ota.js";
import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { bytes, duration, number } from "../../lib/format.js";
import { has, locale, t } from "../../lib/i18n.js";
import { poll } from "../../lib/poll.js";
import { unreadable } from "./reading.js";

const EVERY_MS = 10_000;
const MINUTES = 60;
const MB = 1024 * 1024;

/** @typedef {{name: string, least: number, unit?: number, format: (value: number) => string, values: (load: any) => number[]}} Series */

/** @type {Series[]} */
const SERIES = [
  { name: "devices", least: 4, format: (value) => number(value), values: (load) => load.connected },
  { name: "turns", least: 4, format: (value) => number(value), values: (load) => minutely(load.turns, load.interval_s) },
  { name: "failures", least: 4, format: (value) => number(value), values: (load) => minutely(load.failures, load.interval_s) },
  { name: "not-understood", least: 4, format: (value) => number(value), values: (load) => minutely(load.not_understood, load.interval_s) },
  { name: "lag", least: 20, format: duration, values: (load) => load.lag_ms },
  { name: "memory", least: 64 * MB, unit: MB, format: bytes, values: (load) => load.rss_bytes },
  { name: "cpu", least: 1, format: (value) => number(value, { maximumFractionDigits: 2 }), values: (load) => load.cpu },
];

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export function overview(panel, signal) {
  const facts = h("div");
  const address = h("div", { class: "stack" });
  const charts = SERIES.map(({ name, least, unit, format }) =>
    new Chart({ label: t(`server.load.${name}`), format, least, unit, spanMs: MINUTES * 60_000 }));
  const trouble = h("div");
  const grid = h("div", { class: "charts" }, ...charts.map((each) => each.element));
  fill(
    panel,
    h("div", { class: "grid" }, card(t("server.this"), facts), card(t("server.address"), address)),
    card(t("server.load"), trouble, grid, h("p", { class: "hint" }, t("server.load.hint"))),
  );
  let url = "";
  const ask = poll(signal, EVERY_MS, async () => {
    await Promise.all([
      step(facts, "/server", {}, (found) => {
        drawFacts(facts, found);
        if (found.ota_url === url) return;
        url = found.ota_url;
        fill(address, h("p", null, t("server.address.text")), otaAddress(url, signal));
      }),
      step(trouble, "/server/load", { minutes: MINUTES }, (load) => {
        SERIES.forEach((each, index) => charts[index].show(load.at, each.values(load)));
        fill(trouble);
      }),
    ]);
  });

  /** @param {HTMLElement} place @param {string} path @param {any} query @param {(found: any) => void} draw */
  async function step(place, path, query, draw) {
    try {
      const found = await get(path, query, signal);
      if (!signal.aborted) draw(found);
    } catch (error) {
      if (!signal.aborted) unreadable(place, error, ask);
    }
  }
}

/** @param {HTMLElement} place @param {any} found */
function drawFacts(place, found) {
  const good = found.status === "ok";
  const status = has(`server.status.${found.status}`) ? t(`server.status.${found.status}`) : found.status;
  fill(
    place,
    h("dl", null,
      h("dt", null, t("server.state")), h("dd", null, badge(status, good ? "good" : "warn")),
      h("dt", null, t("server.version")), h("dd", { class: "mono" }, found.version),
      h("dt", null, t("server.uptime")), h("dd", null, uptime(found.uptime_s)),
      h("dt", null, t("server.processes")), h("dd", null, number(found.processes)),
      h("dt", null, t("server.language")), h("dd", null, languageName(found.language)),
      h("dt", null, t("server.mode")), h("dd", null, has(`server.mode.${found.access}`) ? t(`server.mode.${found.access}`) : found.access),
      h("dt", null, t("nav.devices")), h("dd", null, t("server.devices", { connected: found.connected, claimed: found.devices_claimed, known: found.devices_known })),
    ),
  );
}

/** @param {number} seconds */
function uptime(seconds) {
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  return days ? t("server.uptime.days", { days, hours }) : seconds < 120 ? t("time.s", { s: Math.floor(seconds) }) : duration(seconds * 1000);
}

/** @param {string} code */
function languageName(code) {
  try {
    return `${new Intl.DisplayNames(locale(), { type: "language" }).of(code)} (${code})`;
  } catch {
    return code;
  }
}

/** Sums of a minute, ending at each sample. @param {number[]} values @param {number} interval seconds */
function minutely(values, interval) {
  const wide = Math.max(1, Math.round(60 / interval));
  let sum = 0;
  return values.map((value, index) => {
    sum += value - (index >= wide ? values[index - wide] : 0);
    return sum;
  });
}
