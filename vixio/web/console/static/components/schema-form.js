// A form made of a JSON Schema: a control for each property, and JSON where a value has a shape of
// its own.

import { h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { field, select, setFieldError } from "./controls.js";

/** @typedef {{element: HTMLElement, read: () => any}} FormPart `read` raises Error for what is none */

/**
 * @param {any} schema of an object @param {any} [value]
 * @returns {FormPart} `read` returns an object; what is empty and not required is left out
 */
export function schemaForm(schema, value = {}) {
  const required = new Set(schema?.required ?? []);
  const parts = Object.entries(schema?.properties ?? {}).map(([name, each]) => ({
    name,
    part: control(name, /** @type {any} */ (each), value[name], required.has(name)),
  }));
  return {
    element: h("div", { class: "stack" }, ...parts.map(({ part }) => part.element)),
    read() {
      /** @type {Record<string, any>} */
      const found = {};
      for (const { name, part } of parts) {
        const one = part.read();
        if (one !== undefined) found[name] = one;
      }
      return found;
    },
  };
}

/** @param {string} name @param {any} schema @param {any} value @param {boolean} required @returns {FormPart} */
function control(name, schema, value, required) {
  const hint = schema.description ?? "";
  const start = value ?? schema.default;
  const type = kind(schema);
  if (schema.enum) {
    const options = schema.enum.map((/** @type {any} */ each) => /** @type {[string, string]} */ ([JSON.stringify(each), String(each)]));
    const element = select(required ? options : [["", "–"], ...options], start === undefined ? (required ? options[0]?.[0] : "") : JSON.stringify(start));
    return { element: field(name, element, { hint }), read: () => (element.value ? JSON.parse(element.value) : undefined) };
  }
  if (type === "boolean") {
    const box = h("input", { type: "checkbox", checked: Boolean(start) });
    return { element: h("label", { class: "check" }, box, h("span", null, name, hint ? ` – ${hint}` : "")), read: () => box.checked };
  }
  if (type === "integer" || type === "number") {
    const input = h("input", { type: "number", step: type === "integer" ? "1" : "any", required, value: start === undefined ? "" : String(start) });
    if (schema.minimum !== undefined) input.min = String(schema.minimum);
    if (schema.maximum !== undefined) input.max = String(schema.maximum);
    const range = [schema.minimum, schema.maximum].every((each) => each !== undefined) ? t("form.range", { from: schema.minimum, to: schema.maximum }) : "";
    return {
      element: field(name, input, { hint: [hint, range].filter(Boolean).join(" ") }),
      read: () => (input.value === "" ? undefined : Number(input.value)),
    };
  }
  if (type === "string") {
    const input = h("input", { type: "text", required, value: start ?? "", maxLength: schema.maxLength ?? 2_000, autocomplete: "off" });
    return { element: field(name, input, { hint }), read: () => (input.value === "" && !required ? undefined : input.value) };
  }
  const area = h("textarea", { class: "mono", required, spellcheck: false, value: start === undefined ? "" : JSON.stringify(start, null, 2) });
  return {
    element: field(name, area, { hint: [hint, t("form.json")].filter(Boolean).join(" ") }),
    read() {
      setFieldError(area, "");
      if (!area.value.trim()) return undefined;
      try {
        return JSON.parse(area.value);
      } catch {
        setFieldError(area, t("form.no-json"));
        throw new Error(t("form.wrong", { name }));
      }
    },
  };
}

/** @param {any} schema */
function kind(schema) {
  const types = [schema.type ?? schema.anyOf?.map((/** @type {any} */ each) => each.type)].flat().filter((each) => each && each !== "null");
  return types.length === 1 ? types[0] : "";
}
