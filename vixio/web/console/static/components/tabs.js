// Tabs, as the ARIA practices describe them: arrow keys move, one panel is shown.

import { fill, h, uniqueId } from "../lib/dom.js";

/**
 * @typedef {object} Tab
 * @property {string} name
 * @property {string} words
 * @property {(panel: HTMLElement, signal: AbortSignal) => void | Promise<void>} draw fills the panel, each time it is shown
 */

/**
 * Makes tabs. `signal` ends what the shown panel began.
 * @param {Tab[]} tabs @param {AbortSignal} signal @param {{chosen?: string, label: string, onchange?: (name: string) => void}} options
 */
export function tabs(tabs, signal, options) {
  const panel = h("div", { role: "tabpanel", id: uniqueId("panel"), class: "stack" });
  let leaving = new AbortController();
  signal.addEventListener("abort", () => leaving.abort(), { once: true });
  const buttons = tabs.map((tab) =>
    h("button", { type: "button", role: "tab", class: "tab", id: uniqueId("tab"), "aria-controls": panel.id, onclick: () => choose(tab) }, tab.words),
  );

  /** @param {Tab} tab */
  function choose(tab) {
    leaving.abort();
    leaving = new AbortController();
    tabs.forEach((each, at) => {
      buttons[at].setAttribute("aria-selected", String(each === tab));
      buttons[at].tabIndex = each === tab ? 0 : -1;
      if (each === tab) panel.setAttribute("aria-labelledby", buttons[at].id);
    });
    fill(panel);
    void tab.draw(panel, leaving.signal);
    options.onchange?.(tab.name);
  }

  const list = h(
    "div",
    {
      class: "tabs",
      role: "tablist",
      "aria-label": options.label,
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const now = buttons.findIndex((each) => each.getAttribute("aria-selected") === "true");
        const next = (now + step + tabs.length) % tabs.length;
        buttons[next].focus();
        choose(tabs[next]);
      },
    },
    ...buttons,
  );
  choose(tabs.find((tab) => tab.name === options.chosen) ?? tabs[0]);
  return h("div", { class: "stack" }, list, panel);
}
