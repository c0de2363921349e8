// Where the time of a turn went: a bar with a part for each stage.

import { duration } from "../lib/format.js";
import { h } from "../lib/dom.js";
import { listed, t } from "../lib/i18n.js";

/** @typedef {{name: string, ms: number}} Stage `ms`: how long it took */

export const SLOW_MS = 2_000;
/** Behind a longer silence people ask again. */

/**
 * Makes the bar. Its widths are shares of the whole; a table with the same numbers is for everybody.
 * @param {Stage[]} stages in their order
 */
export function stageBar(stages) {
  const whole = stages.reduce((sum, each) => sum + each.ms, 0);
  const words = listed(stages.map((each) => `${t(`stage.${each.name}`)} ${duration(each.ms)}`));
  const bar = h("div", { class: "stage-bar", role: "img", "aria-label": words });
  const legend = h("ul", { class: "stage-legend" }, h("li", null, h("b", null, t("stage.all", { ms: duration(whole) }))));
  for (const { name, ms } of stages) {
    const told = t("list.of", { name: t(`stage.${name}`), value: listed([duration(ms), t(`stage.${name}.hint`)]) });
    const piece = h("span", { class: "stage-piece", "data-stage": name, title: told });
    piece.style.flexGrow = String(whole ? ms / whole : 1);
    bar.append(piece);
    legend.append(
      h("li", { "data-stage": name, title: told }, h("span", { class: "key", "aria-hidden": "true" }), t(`stage.${name}`), " ", h("b", null, duration(ms))),
    );
  }
  if (whole > SLOW_MS) {
    const longest = stages.reduce((most, each) => (each.ms > most.ms ? each : most));
    legend.append(h("li", { class: "slow" }, t("stage.slow", { name: t(`stage.${longest.name}`) })));
  }
  return h("div", { class: "stages" }, bar, legend);
}
