// What is wrong, each with what mends it; or a line that nothing is.

import { icon } from "../../components/icon.js";
import { onlyHere } from "../../components/ota.js";
import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { stateNow } from "../../lib/devices.js";
import { has, t } from "../../lib/i18n.js";
import { ownWords } from "../../lib/problems.js";
import { poll } from "../../lib/poll.js";
import { href } from "../../lib/router.js";
import { nameOf } from "./awake.js";

/** Of providers, those that the page Assistant chooses. */
const CHOSEN = new Set(["asr", "agent", "tts"]);

const EVERY_MS = 10_000;
const MOST = 5;
/** Devices of one kind of trouble that are named. */

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** @typedef {{kind: "warn" | "bad", words: string, to: string[], act: string}} Trouble */

/** @param {import("../../lib/devices.js").Devices} devices @param {AbortSignal} signal */
export function troubles(devices, signal) {
  const list = h("ul", { class: "stack home-troubles", "aria-label": t("home.troubles") });
  /** @type {Trouble[] | null} */
  let ofServer = null;
  let shown = "";
  devices.addEventListener("all", draw);
  devices.addEventListener("changed", draw);
  poll(signal, EVERY_MS, async () => {
    const [server, parts, log] = await Promise.allSettled([
      get("/server", {}, signal), get("/server/parts", {}, signal),
      get("/server/log", { level: "ERROR", limit: 100, after: (Date.now() - HOUR_MS) * 1000 }, signal),
    ]);
    if (signal.aborted) return;
    ofServer = [
      ...(server.status === "fulfilled" ? aboutServer(server.value) : [unread(server.reason)]),
      ...(parts.status === "fulfilled" ? aboutParts(parts.value) : []),
    ];
    const errors = log.status === "fulfilled" ? log.value.lines.length : 0;
    const explained = ofServer.some((each) => each.kind === "bad"); // what is named is in the log too
    if (errors && !explained) ofServer.push(trouble("warn", "log", ["server", "log"], { count: errors }));
    draw();
  });
  return list;

  function draw() {
    if (!ofServer || !devices.loaded) return;
    const all = [...ofServer, ...aboutDevices([...devices.all.values()])];
    const now = JSON.stringify(all);
    if (now === shown) return; // a link that has the focus keeps it
    shown = now;
    fill(list, ...(all.length ? all.map(line) : [h("li", { class: "home-well muted" }, icon("check"), t("home.well"))]));
  }
}

/** @param {Trouble} trouble */
function line({ kind, words, to, act }) {
  return h("li", { class: `notice ${kind} home-trouble` }, icon("warn"), h("div", null, h("p", null, words)), h("a", { class: "button plain small", href: href(to) }, act));
}

/** @param {"warn" | "bad"} kind @param {string} key @param {string[]} to @param {Record<string, string | number>} [values] @returns {Trouble} */
function trouble(kind, key, to, values = {}) {
  return { kind, words: t(`home.trouble.${key}`, values), to, act: t(`home.trouble.${key}.act`) };
}

/** @param {unknown} error */
function unread(error) {
  return trouble("bad", "unread", ["server", "log"], { reason: error instanceof Error ? error.message : String(error) });
}

/** @param {any} server */
function aboutServer(server) {
  /** @type {Record<string, string>} */
  const failed = server.troubles;
  const found = Object.entries(failed)
    .filter(([name]) => name !== "providers") // the parts say which, and why
    .map(([name, reason]) => has(`home.trouble.${name}`)
      ? trouble("bad", name, ["server", "log"], { reason })
      : trouble("bad", "check", ["server", "log"], { name, reason }));
  return onlyHere(server.ota_url) ? [...found, trouble("warn", "only-here", ["add"], { url: server.ota_url })] : found;
}

/** @param {any} parts */
function aboutParts(parts) {
  return [
    ...parts.providers.filter((/** @type {any} */ each) => each.state === "failed").map((/** @type {any} */ each) =>
      trouble("bad", "part", CHOSEN.has(each.kind) ? ["assistant"] : ["server", "parts"], { part: t(`home.part.${each.kind}`), name: each.name, reason: ownWords(each.detail || each.reason) })),
    ...parts.sources.filter((/** @type {any} */ each) => each.state === "failed" || each.faults.length).map((/** @type {any} */ each) =>
      trouble("warn", "source", each.type === "mcp" ? ["assistant"] : ["server", "parts"], { name: each.name, reason: each.faults.map((/** @type {any} */ fault) => ownWords(fault.reason)).join("; ") })),
  ];
}

/** @param {any[]} devices */
function aboutDevices(devices) {
  const since = Date.now() - DAY_MS;
  return [
    ...devices.filter((each) => stateNow(each) === "waiting").slice(0, MOST)
      .map((each) => trouble("warn", "waiting", ["add", each.id], { board: each.board || t("devices.unknown"), code: each.code })),
    ...devices.filter((each) => each.last?.outcome?.startsWith("failed") && each.last.at > since).slice(0, MOST)
      .map((each) => trouble("bad", "turn", ["device", each.id], { name: nameOf(each) })),
  ];
}
