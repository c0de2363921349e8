// The settings in force: every key with its value and where it comes from.

import { badge, field, select } from "../../components/controls.js";
import { get } from "../../lib/api.js";
import { fill, h, setText } from "../../lib/dom.js";
import { number } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { reading } from "./reading.js";

/** @typedef {{path: string, value: string, source: string}} Row */

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export async function settings(panel, signal) {
  await reading(panel, signal, () => get("/server/settings", {}, signal), (found) => draw(panel, found));
}

/** @param {HTMLElement} panel @param {any} found */
function draw(panel, found) {
  const sections = Object.entries(found.settings).map(([name, value]) => section(name, value, found.sources));
  const all = sections.reduce((sum, each) => sum + each.rows.length, 0);
  const words = h("input", { type: "search", autocomplete: "off", oninput: filter });
  const source = select(
    [["", t("server.settings.all")], ["set", t("server.settings.set")], ...["file", "console", "environment", "program"].map((each) => /** @type {[string, string]} */ ([each, t(`server.source.${each}`)]))],
    "",
    { onchange: filter },
  );
  const count = h("p", { class: "muted small", role: "status" });
  fill(
    panel,
    h("p", null, found.file ? [t("server.settings.file"), " ", h("code", null, found.file)] : t("server.settings.no-file")),
    h("p", { class: "hint" }, t("server.settings.hint")),
    h("div", { class: "filters" }, field(t("search"), words), field(t("server.settings.show"), source)),
    count,
    h("div", { class: "settings" }, ...sections.map((each) => each.element)),
  );
  let wasChosen = false; // what is folded by hand stays so while the filter changes
  filter();

  function filter() {
    const text = words.value.trim().toLowerCase();
    const from = source.value;
    const chosen = Boolean(text || from);
    let shown = 0;
    for (const each of sections) {
      let here = 0;
      for (const { row, element } of each.rows) {
        const fits = (!from || (from === "set" ? row.source !== "default" : row.source === from)) &&
          `${row.path} ${row.value}`.toLowerCase().includes(text);
        element.hidden = !fits;
        if (fits) here += 1;
      }
      each.element.hidden = !here;
      if (chosen !== wasChosen) each.element.open = chosen;
      shown += here;
    }
    wasChosen = chosen;
    setText(count, t("server.settings.count", { count: number(shown), total: number(all) }));
  }
}

/** @param {string} name @param {any} value @param {Record<string, string>} sources */
function section(name, value, sources) {
  const rows = [...flat(name, value, sources)].map((row) => ({ row, element: line(row) }));
  const set = rows.filter(({ row }) => row.source !== "default").length;
  const element = h(
    "details",
    { class: "card setting-section", "data-section": name },
    h("summary", null, h("h2", { class: "mono" }, name), " ", set ? badge(t("server.settings.changed", { count: set }), "accent") : null),
    h("div", { role: "table", "aria-label": name, class: "setting-rows" }, ...rows.map((each) => each.element)),
  );
  return { element, rows };
}

/** @param {Row} row */
function line(row) {
  return h(
    "div",
    { role: "row", class: "setting", "data-path": row.path },
    h("span", { role: "rowheader", class: "mono" }, row.path),
    h("span", { role: "cell", class: "mono value" }, row.value),
    h("span", { role: "cell" }, badge(t(`server.source.${row.source}`), row.source === "default" ? "" : "accent")),
  );
}

/** Yields the leaves below a key; lists of plain values are one. @param {string} path @param {any} value @param {Record<string, string>} sources @returns {Generator<Row>} */
function* flat(path, value, sources) {
  if (Array.isArray(value) && value.every((each) => each === null || typeof each !== "object")) {
    const source = sources[path] ?? value.map((_, index) => sources[`${path}[${index}]`]).find(Boolean) ?? "default";
    yield { path, value: value.length ? value.map(plain).join(", ") : "[]", source };
  } else if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) yield* flat(`${path}[${index}]`, each, sources);
  } else if (value !== null && typeof value === "object" && Object.keys(value).length) {
    for (const [key, each] of Object.entries(value)) yield* flat(`${path}.${key}`, each, sources);
  } else {
    yield { path, value: value !== null && typeof value === "object" ? "{}" : plain(value), source: sources[path] ?? "default" };
  }
}

/** @param {any} value */
function plain(value) {
  return value === "" ? '""' : String(value);
}
