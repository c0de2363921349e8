// The end of the server's log, as it grows.

import { badge, button, field, notice, select } from "../../components/controls.js";
import { get } from "../../lib/api.js";
import { devicesById } from "../../lib/devices.js";
import { fill, h, setText } from "../../lib/dom.js";
import { clock, dateTime, number } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { deviceName } from "../../lib/names.js";
import { poll } from "../../lib/poll.js";

const EVERY_MS = 2_000;
const MAX_LINES = 1_000;
const ASKED = 500; // the most that the server gives at a time
const NEAR_PX = 24; // from the end: who is this near follows it

const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];

/** @type {Record<string, string>} */
const KINDS = { WARNING: "warn", ERROR: "bad", CRITICAL: "bad" };

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export function log(panel, signal) {
  /** @type {{element: HTMLElement, text: string}[]} */
  const lines = [];
  /** @type {Set<string>} */
  const processes = new Set();
  /** @type {Map<string, any> | null} */
  let devices = null;
  let after = 0;
  let paused = false;
  let follows = true;
  const level = select(LEVELS.map((each) => [each, t(`server.log.${each}`)]), "DEBUG", { onchange: anew });
  const words = h("input", { type: "search", autocomplete: "off", oninput: filter });
  const list = h("ol", { class: "log-lines" });
  const view = h("div", {
    class: "log", tabIndex: 0, role: "region", "aria-label": t("server.log"),
    onscroll: () => {
      follows = view.scrollHeight - view.scrollTop - view.clientHeight < NEAR_PX;
      end.disabled = follows;
    },
  }, list);
  const count = h("p", { class: "muted small" });
  const withheld = h("p", { class: "muted small" });
  const trouble = h("div");
  const pause = button("", () => {
    paused = !paused;
    drawPause();
    if (!paused) ask();
  });
  const end = button(t("server.log.end"), toEnd, { icon: "download", disabled: true });
  fill(
    panel,
    h("div", { class: "log-tools" }, field(t("server.log.level"), level), field(t("server.log.words"), words), h("div", { class: "row" }, pause, end)),
    trouble,
    view,
    h("div", { class: "row spread" }, count, withheld),
  );
  drawPause();
  const ask = poll(signal, EVERY_MS, read);

  async function read() {
    if (paused) return;
    const asked = level.value;
    try {
      devices ??= await devicesById(signal).catch(() => new Map()); // their names are no reason to show no log
      const found = await get("/server/log", { after, level: asked, limit: ASKED }, signal);
      if (signal.aborted || paused || asked !== level.value) return;
      after = found.next;
      add(found.lines);
      setText(withheld, t("server.log.withheld", { count: found.withheld }));
      fill(trouble);
    } catch (error) {
      if (!signal.aborted) fill(trouble, notice("bad", h("p", null, /** @type {Error} */ (error).message), button(t("retry"), ask, { icon: "refresh" })));
    }
  }

  /** @param {any[]} found */
  function add(found) {
    for (const line of found) {
      processes.add(line.process);
      const made = draw(line, devices ?? new Map());
      made.element.hidden = !matches(made.text);
      lines.push(made);
      list.append(made.element);
    }
    for (const { element } of lines.splice(0, Math.max(0, lines.length - MAX_LINES))) element.remove();
    list.classList.toggle("several", processes.size > 1);
    drawCount();
    if (found.length && follows) toEnd();
  }

  function toEnd() {
    view.scrollTop = view.scrollHeight;
    follows = true;
  }

  function anew() {
    lines.length = 0;
    after = 0;
    follows = true;
    fill(list);
    paused = false;
    drawPause();
    ask();
  }

  function filter() {
    for (const each of lines) each.element.hidden = !matches(each.text);
    drawCount();
    if (follows) toEnd();
  }

  /** @param {string} text */
  function matches(text) {
    return text.includes(words.value.trim().toLowerCase());
  }

  function drawCount() {
    const shown = lines.reduce((sum, each) => sum + (each.element.hidden ? 0 : 1), 0);
    setText(count, t("server.log.count", { count: number(shown), total: number(lines.length) }));
  }

  function drawPause() {
    const label = t(paused ? "server.log.resume" : "server.log.pause");
    setText(/** @type {HTMLElement} */ (pause.lastElementChild), label);
  }
}

/** @param {any} line @param {Map<string, any>} devices */
function draw(line, devices) {
  const named = (/** @type {unknown} */ value) => (typeof value === "string" ? deviceName(devices, value) : value);
  const fields = Object.entries(line.fields).map(([key, value]) => `${key}=${shown(named(value))}`);
  const element = h(
    "li",
    { "data-level": line.level },
    h("span", { class: "when muted", title: dateTime(line.at) }, clock(line.at)),
    badge(t(`server.log.level.${line.level}`), KINDS[line.level] ?? ""),
    h("span", { class: "process muted", title: t("server.log.process", { name: line.process }) }, line.process),
    h("span", { class: "what" },
      h("span", { class: "muted" }, line.logger), " ", h("span", { class: "message" }, line.message), " ",
      h("span", { class: "muted", title: Object.values(line.fields).filter((each) => each !== named(each)).join(" ") }, fields.join(" "))),
  );
  return { element, text: [line.level, line.logger, line.message, ...fields, JSON.stringify(line.fields)].join(" ").toLowerCase() };
}

/** @param {unknown} value */
function shown(value) {
  return typeof value === "string" ? (/\s/.test(value) ? JSON.stringify(value) : value) : JSON.stringify(value);
}
