// Checks the draft while it is written.

import { post } from "../../lib/api.js";
import { ownWords } from "../../lib/problems.js";

/** @typedef {import("./editor.js").Editor} Editor */

const PAUSE_MS = 300;

/** Asks the server about the draft, a moment after the last key; an older answer is dropped. */
export class Checker extends EventTarget {
  /** @type {any} the answer for the draft as it is; null: it has not come */
  result = null;
  /** @type {Error | null} */
  error = null;
  #timer = 0;
  #asking = new AbortController();
  #content = "";

  /** @param {Editor} editor */
  constructor(editor) {
    super();
    this.editor = editor;
    editor.draft.addEventListener("change", () => this.#plan(), { signal: editor.signal });
    editor.draft.addEventListener("stored", () => { this.#content = ""; }, { signal: editor.signal });
    editor.signal.addEventListener("abort", () => {
      clearTimeout(this.#timer);
      this.#asking.abort();
    }, { once: true });
    void this.ask();
  }

  /** Whether the draft can be saved as it is. */
  get valid() {
    return Boolean(this.result?.valid) && !this.editor.draft.unread.size;
  }

  #plan() {
    const now = JSON.stringify(this.editor.draft.content);
    if (now !== this.#content) {
      this.#content = now;
      this.result = null;
      this.#asking.abort();
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => void this.ask(), PAUSE_MS);
    }
    this.#tell();
  }

  async ask() {
    const { editor } = this;
    this.#asking.abort();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    this.#content = JSON.stringify(editor.draft.content);
    try {
      const result = await post("/profiles/check", { name: editor.name, content: editor.draft.content }, { signal });
      for (const each of result.errors) each.message = ownWords(each.message);
      if (signal.aborted) return;
      this.result = result;
      this.error = null;
    } catch (error) {
      if (signal.aborted) return;
      this.error = /** @type {Error} */ (error);
    }
    this.#tell();
  }

  /** All that is wrong: what cannot be read here, and what the server says. @returns {{path: string, message: string}[]} */
  mistakes() {
    const unread = [...this.editor.draft.unread].map(([path, message]) => ({ path, message }));
    return [...unread, ...(this.result?.errors ?? [])];
  }

  #tell() {
    this.dispatchEvent(new CustomEvent("checked"));
  }
}
