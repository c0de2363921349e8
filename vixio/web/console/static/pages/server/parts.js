// The parts: providers with who stands in for whom, tool sources with their tools, and a trial.

import { badge, card, empty } from "../../components/controls.js";
import { time } from "../../components/time.js";
import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { number } from "../../lib/format.js";
import { has, t } from "../../lib/i18n.js";
import { ownWords } from "../../lib/problems.js";
import { poll } from "../../lib/poll.js";
import { unreadable } from "./reading.js";
import { Trials } from "./trials.js";

const EVERY_MS = 10_000;

/** @type {Record<string, string>} */
const KINDS = { ready: "good", trying: "warn", loading: "warn", starting: "warn", resting: "warn", failed: "bad" };

/** @param {string} state */
function stateLabel(state) {
  return badge(has(`server.part.${state}`) ? t(`server.part.${state}`) : state, KINDS[state] ?? "");
}

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export function parts(panel, signal) {
  const providers = h("div");
  const sources = h("div");
  const trials = new Trials(signal, () => ask());
  fill(
    panel,
    card(t("server.try"), trials.element),
    card(t("server.providers"), providers),
    card(t("server.sources"), sources),
  );
  let before = "";
  const ask = poll(signal, EVERY_MS, async () => {
    try {
      const found = await get("/server/parts", {}, signal);
      if (signal.aborted) return;
      trials.offer(found.providers.filter((/** @type {any} */ each) => each.default).map((/** @type {any} */ each) => each.kind));
      const now = JSON.stringify({ ...found, process: 0 });
      if (now === before) return; // what is unfolded or selected stays so
      before = now;
      drawProviders(providers, found.providers);
      drawSources(sources, found.sources);
    } catch (error) {
      if (signal.aborted) return;
      before = "";
      fill(sources);
      unreadable(providers, error, ask);
    }
  });
}

/** @param {HTMLElement} place @param {any[]} found */
function drawProviders(place, found) {
  if (!found.length) return fill(place, empty(t("server.providers.none")));
  fill(place, h("ul", { class: "parts" }, ...found.map((each) =>
    h("li", { class: "part", "data-kind": each.kind },
      h("div", { class: "row" },
        h("b", null, t(`server.kind.${each.kind}`)), h("span", { class: "mono" }, each.name), stateLabel(each.state),
        each.default ? null : badge(t("server.part.profiles")),
        h("span", { class: "muted small" }, t("server.part.users", { count: each.users }))),
      trouble(each.reason, each.detail),
      candidates(each.candidates)))));
}

/** @param {any[]} found @returns {HTMLElement | null} */
function candidates(found) {
  if (!found.length) return null;
  return h("ol", { class: "candidates" }, ...found.map((each) =>
    h("li", null,
      h("div", { class: "row" },
        h("span", { class: "mono" }, each.name), each.server ? h("span", { class: "mono muted" }, each.server) : null, stateLabel(each.state),
        each.rests_until ? h("span", { class: "small" }, t("server.part.until"), " ", time(each.rests_until)) : null,
        h("span", { class: "muted small" }, counts(each))),
      trouble(each.reason, each.detail),
      candidates(each.servers))));
}

/** @param {any} each */
function counts(each) {
  return ["served", "failed", "pending", "failures"]
    .filter((name) => each[name] !== null && (name !== "failures" || each.failures))
    .map((name) => t(`server.part.${name}.count`, { count: number(each[name]) }))
    .join(" · ");
}

/** @param {string} reason @param {string} detail */
function trouble(reason, detail) {
  const words = [...new Set([reason, detail])].filter(Boolean).map(ownWords).join(": ");
  return words ? h("p", { class: "small trouble" }, words) : null;
}

/** @param {HTMLElement} place @param {any[]} found */
function drawSources(place, found) {
  if (!found.length) return fill(place, empty(t("server.sources.none")));
  const open = new Set([...place.querySelectorAll("details[open]")].map((each) => /** @type {HTMLElement} */ (each).dataset.source));
  fill(place, h("ul", { class: "parts" }, ...found.map((each) =>
    h("li", { class: "part", "data-source": each.name },
      h("div", { class: "row" },
        h("b", null, each.name), badge(has(`server.type.${each.type}`) ? t(`server.type.${each.type}`) : each.type), stateLabel(each.state)),
      ...each.faults.map((/** @type {any} */ fault) => trouble(fault.place, fault.reason)),
      each.tools.length
        ? h("details", { "data-source": each.name, open: open.has(each.name) },
          h("summary", null, t("server.source.tools", { count: each.tools.length })),
          h("dl", { class: "tools" }, ...each.tools.flatMap((/** @type {any} */ tool) => [
            h("dt", { class: "mono" }, tool.name), h("dd", null, tool.description),
          ])))
        : h("p", { class: "muted small" }, t("server.source.no-tools"))))));
}
