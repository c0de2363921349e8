// A list of which one is chosen: its name, what is to be known of it, and what can be done with it.

import { h, uniqueId } from "../../lib/dom.js";

/**
 * @typedef {object} Row
 * @property {string} name @property {string} title
 * @property {import("../../lib/dom.js").Child[]} [about] @property {boolean} [disabled]
 * @property {HTMLElement[]} [more] buttons, and what they say
 */

/**
 * @param {string} label @param {Row[]} rows @param {string} chosen @param {(name: string) => void} choose
 * @returns {{element: HTMLElement, value: () => string, focus: () => void, choose: (name: string) => void, under: (...more: HTMLElement[]) => void}} `under` puts more below the chosen row
 */
export function pick(label, rows, chosen, choose) {
  const group = uniqueId("pick");
  const radios = rows.map((row) =>
    h("input", { type: "radio", name: group, value: row.name, checked: row.name === chosen, disabled: row.disabled ?? false, onchange: () => choose(row.name) }));
  const checked = () => radios.find((each) => each.checked);
  return {
    element: h("div", { class: "picks", role: "radiogroup", "aria-label": label }, ...rows.map((row, at) =>
      h("div", { class: "pick", "data-name": row.name },
        h("label", null, radios[at], h("span", { class: "stack-tight" }, h("b", null, row.title), row.about?.length ? h("span", { class: "small muted" }, ...row.about) : null)),
        row.more ? h("div", { class: "row" }, ...row.more) : null))),
    value: () => checked()?.value ?? "",
    focus: () => checked()?.focus(),
    choose(name) {
      for (const each of radios) each.checked = each.value === name;
      choose(name);
    },
    under: (...more) => checked()?.closest(".pick")?.append(...more),
  };
}
