// Makes elements. Text is always text: nothing here, or anywhere in the console, parses HTML.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Makes an element. Properties that begin with `on` are listeners; `class`, `for`, `role`, `aria-*`,
 * `data-*` and other names with a hyphen are attributes; the rest are properties of the element.
 * Null, undefined and false set nothing.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any> | null} [properties]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    set(element, name, value);
  }
  element.append(...nodes(children));
  return element;
}

/** @param {Element} element @param {string} name @param {any} value */
function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) {
    element.addEventListener(name.slice(2), value);
  } else if (ATTRIBUTES.has(name) || name.includes("-")) {
    element.setAttribute(name === "class" ? "class" : name, value === true ? "" : String(value));
  } else {
    /** @type {any} */ (element)[name] = value;
  }
}

const ATTRIBUTES = new Set([
  "class", "for", "role", "list", "colspan", "scope", "headers", "autocomplete", "inputmode", "form",
]);

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
export function nodes(children) {
  return /** @type {(Node | string)[]} */ (
    children.flat().filter((each) => each !== null && each !== undefined && each !== false)
      .map((each) => (typeof each === "number" ? String(each) : each))
  );
}

/**
 * Replaces what is in an element.
 * @param {Element} element @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * Sets a text, if it is another: a page that changes often is not laid out for nothing.
 * @param {Element} element @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * Makes an element of a picture.
 * @param {string} tag @param {Record<string, string | number>} attributes @param {...Node} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * Finds what must be there.
 * @template {Element} [E=HTMLElement]
 * @param {ParentNode} parent @param {string} selector
 * @returns {E}
 */
export function find(parent, selector) {
  const found = parent.querySelector(selector);
  if (!found) throw new Error(`there is no ${selector}`);
  return /** @type {E} */ (found);
}

let number = 0;

/** Returns an id that no other element has. @param {string} [prefix] */
export function uniqueId(prefix = "id") {
  number += 1;
  return `${prefix}-${number}`;
}
