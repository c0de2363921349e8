// What all tabs do: read something and show it, or why it could not be read.

import { button, loading, notice } from "../../components/controls.js";
import { fill, h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";

/**
 * Reads, and draws what was read into its place; if that fails, the reason and "Try again".
 * @template T
 * @param {HTMLElement} place @param {AbortSignal} signal
 * @param {() => Promise<T>} read @param {(found: T) => void} draw
 */
export async function reading(place, signal, read, draw) {
  if (!place.childElementCount) fill(place, loading());
  try {
    const found = await read();
    if (!signal.aborted) draw(found);
  } catch (error) {
    if (!signal.aborted) unreadable(place, error, () => reading(place, signal, read, draw));
  }
}

/** @param {HTMLElement} place @param {unknown} error @param {() => unknown} again */
export function unreadable(place, error, again) {
  const words = error instanceof Error ? error.message : String(error);
  fill(place, notice("bad", h("p", null, words), button(t("retry"), again, { icon: "refresh" })));
}
