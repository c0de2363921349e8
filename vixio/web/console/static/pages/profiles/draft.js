// A profile that is being written: its content, what is stored, and what differs.

/** @typedef {(string | number)[]} Path keys and indexes, from the outside in */
/** @typedef {{path: string, before: any, after: any}} Change */

/** A content that changes. Events: `change` whenever it is another, `stored` when what is stored is. */
export class Draft extends EventTarget {
  /** @type {Map<string, string>} what cannot be read, by path: it is in no content */
  unread = new Map();

  /** @param {Record<string, any>} stored @param {Record<string, any>} [content] */
  constructor(stored, content = stored) {
    super();
    this.stored = stored;
    this.content = structuredClone(content);
  }

  get dirty() {
    return this.unread.size > 0 || !same(this.content, this.stored);
  }

  /** The value at a path; undefined: it is not there. @param {Path} path @returns {any} */
  at(path) {
    /** @type {any} */
    let value = this.content;
    for (const key of path) value = value === null || typeof value !== "object" ? undefined : value[key];
    return value;
  }

  /**
   * Sets a value. Undefined takes the key away, and the objects that become empty by it.
   * @param {Path} path @param {any} value
   */
  put(path, value) {
    const read = this.unread.delete(pathText(path));
    if (!read && same(this.at(path), value)) return;
    this.content = changed(this.content, path, value) ?? {};
    this.#tell();
  }

  /** Says that what stands in a control cannot be read. @param {Path} path @param {string} why */
  fail(path, why) {
    this.unread.set(pathText(path), why);
    this.#tell();
  }

  /** Takes another content as a whole. @param {Record<string, any>} content */
  replace(content) {
    this.unread.clear();
    this.content = structuredClone(content);
    this.#tell();
  }

  /** What the server has. @param {Record<string, any>} stored */
  store(stored) {
    this.stored = stored;
    this.dispatchEvent(new CustomEvent("stored"));
    this.#tell();
  }

  #tell() {
    this.dispatchEvent(new CustomEvent("change"));
  }
}

/** @param {any} within @param {Path} path @param {any} value @returns {any} a new one; undefined: nothing is left */
function changed(within, [key, ...rest], value) {
  const copy = Array.isArray(within) ? [...within] : { ...(typeof within === "object" ? within : {}) };
  const inner = rest.length ? changed(copy[key], rest, value) : value;
  if (inner !== undefined) copy[key] = inner;
  else if (Array.isArray(copy)) copy[Number(key)] = {};
  else delete copy[key];
  return Array.isArray(copy) || Object.keys(copy).length ? copy : undefined;
}

/** A path as the API writes it. @param {Path} path */
export function pathText(path) {
  return path.reduce((/** @type {string} */ text, key) => (typeof key === "number" ? `${text}[${key}]` : text ? `${text}.${key}` : key), "");
}

/** Whether two values of JSON are equal. @param {any} one @param {any} other @returns {boolean} */
export function same(one, other) {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other || Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && same(one[key], other[key]));
}

/** Where two contents differ. @param {any} before @param {any} after @param {string} [above] @returns {Change[]} */
export function differences(before, after, above = "") {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.flatMap((key) => {
    const path = above ? `${above}.${key}` : key;
    const [old, now] = [before[key], after[key]];
    if (same(old, now)) return [];
    if ([old, now].every((each) => each === undefined || plain(each))) return differences(old ?? {}, now ?? {}, path);
    return [{ path, before: old ?? null, after: now ?? null }];
  });
}

/** @param {any} value */
function plain(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
