// What the parts of the page have in common.

import { button, field, notice, setFieldError } from "../../components/controls.js";
import { ApiError, get } from "../../lib/api.js";
import { watch } from "../../lib/feed.js";
import { fill, h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";

/** @typedef {import("../../components/controls.js").Control} Control */
/** @typedef {import("../../lib/feed.js").FeedEvent} FeedEvent */

const PAUSE_MS = 150;
/** Events that follow each other closely cause one read. */

const PART = 100;
const PARTS = 5;

/**
 * Reads something, shows it, and reads it again when an event says so. A failed first read is shown
 * with a way to try again.
 *
 * @param {object} options
 * @param {AbortSignal} options.signal
 * @param {HTMLElement} options.place what the failure is shown in
 * @param {() => Promise<void>} options.read reads and shows
 * @param {(event: FeedEvent) => boolean} options.concerns whether an event asks for another read
 * @returns {() => Promise<void>} reads again
 */
export function follow({ signal, place, read, concerns }) {
  let shown = false;
  let latest = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let planned;

  const again = async () => {
    const mine = ++latest;
    try {
      await read();
      shown = true;
    } catch (error) {
      if (signal.aborted || mine !== latest) return;
      if (!shown) showFailure(place, error, again);
      else console.warn(error); // what is shown is kept; the next event or the next visit reads again
    }
  };
  const plan = () => {
    planned ??= setTimeout(() => {
      planned = undefined;
      void again();
    }, PAUSE_MS);
  };
  signal.addEventListener("abort", () => clearTimeout(planned), { once: true });
  watch(signal, (event) => { if (concerns(event)) plan(); }, plan);
  void again();
  return again;
}

/** @param {HTMLElement} place @param {unknown} error @param {() => unknown} again */
export function showFailure(place, error, again) {
  const off = error instanceof ApiError && error.status === 409 && error.message.startsWith("memory.store");
  if (off) return fill(place, notice("info", h("p", null, t("memory.off"))));
  const words = error instanceof Error ? error.message : String(error);
  fill(place, notice("bad", h("p", null, words), button(t("retry"), again, { icon: "refresh" })));
}

/** Whether an event says that what is remembered is another. @param {FeedEvent} event */
export function aboutMemory(event) {
  if (event.type === "changed") return ["memory", "person"].includes(event.about);
  return event.type === "tool.ended" && /(remember_fact|forget_fact|forget_everything)$/.test(event.tool);
}

/** A field to search by. @param {string} label @param {() => void} draw */
export function searchField(label, draw) {
  const control = h("input", { type: "search", autocomplete: "off", oninput: draw });
  return { control, element: field(label, control) };
}

/** Whether one of the texts has the searched words. @param {string} words @param {(string | null | undefined)[]} texts */
export function has(words, ...texts) {
  return texts.join("\n").toLowerCase().includes(words.trim().toLowerCase());
}

/** Says what is wrong with a field, and ends what its form does. @param {Control} control @param {string} words @returns {never} */
export function refuse(control, words) {
  setFieldError(control, words);
  control.focus();
  throw new DOMException(words, "AbortError");
}

/** A list whose elements stay as long as what they show is the same, with the focus in them. */
export class Keyed {
  /** @type {Map<string, {shown: string, element: Element}>} */
  #made = new Map();

  /** @param {Element} list */
  constructor(list) {
    this.list = list;
  }

  /**
   * @template T
   * @param {T[]} items @param {(item: T) => string} key @param {(item: T) => string} shows what the element shows, as a text
   * @param {(item: T) => Element} make
   */
  show(items, key, shows, make) {
    /** @type {Map<string, {shown: string, element: Element}>} */
    const kept = new Map();
    for (const item of items) {
      const id = key(item);
      const shown = shows(item);
      const before = this.#made.get(id);
      kept.set(id, before?.shown === shown ? before : { shown, element: make(item) });
    }
    this.#made = kept;
    let at = this.list.firstElementChild;
    for (const { element } of kept.values()) {
      if (element === at) at = at.nextElementSibling;
      else this.list.insertBefore(element, at);
    }
    while (at) {
      const next = at.nextElementSibling;
      at.remove();
      at = next;
    }
  }
}

/** How much is remembered, by id; of the last written, if it is very much. @param {"device" | "person"} kind @param {AbortSignal} signal */
export async function memories(kind, signal) {
  /** @type {Map<string, any>} */
  const found = new Map();
  for (let part = 0; part < PARTS; part += 1) {
    const { memories, total } = await get("/memory", { kind, limit: PART, offset: part * PART }, signal);
    for (const each of memories) found.set(each.id, each);
    if (found.size >= total || !memories.length) break;
  }
  return found;
}
