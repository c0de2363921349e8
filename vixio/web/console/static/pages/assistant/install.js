// The installation of parts, which goes on in the server whether a page looks or not.

import { notice } from "../../components/controls.js";
import { get, post } from "../../lib/api.js";
import { fill, h, setText } from "../../lib/dom.js";
import { has, listed, t } from "../../lib/i18n.js";
import { poll } from "../../lib/poll.js";

const EVERY_MS = 1_000;

/** @typedef {{state: "idle" | "running" | "done" | "failed", names: string[], seconds: number, line: string, error: string}} Installation */

/** Shows an installation, and begins one. */
export class Installer {
  element = h("div", { class: "stack installing", hidden: true });
  #words = h("p", { role: "status" });
  #line = h("p", { class: "mono small muted clip" });
  #time = h("span", { class: "small muted" });

  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.signal = signal;
    const bar = h("progress", { "aria-label": t("assistant.installing") });
    this.element.append(this.#words, h("div", { class: "row" }, bar, this.#time), this.#line);
  }

  /** Waits for the end of one that runs. @returns {Promise<Installation>} */
  follow() {
    return new Promise((resolve) => {
      const ending = new AbortController();
      const signal = AbortSignal.any([this.signal, ending.signal]);
      poll(signal, EVERY_MS, async () => {
        const found = await get("/assistant/install", {}, this.signal).catch(() => null); // the server may be busy
        if (!found || signal.aborted) return;
        this.#show(found);
        if (found.state === "running") return;
        ending.abort();
        resolve(found);
      });
    });
  }

  /** Installs, and waits for the end, also of one that runs. Raises Error with the reason. @param {string[]} choices such as `tts.joe` */
  async run(choices) {
    const { state } = await get("/assistant/install", {}, this.signal);
    if (state === "running") await this.#over(); // one that another page began
    if (!choices.length) return;
    await post("/assistant/install", { choices });
    await this.#over();
  }

  async #over() {
    const { state, error } = await this.follow();
    if (state === "failed") throw new Error(error);
  }

  /** @param {Installation} found */
  #show(found) {
    const running = found.state === "running";
    this.element.hidden = !running;
    if (!running) return;
    setText(this.#words, t("assistant.installing.names", { names: listed(found.names.map(named)) }));
    setText(this.#time, t("assistant.installing.since", { s: Math.round(found.seconds) }));
    setText(this.#line, found.line);
  }
}

/** @param {string} choice such as `tts.joe` */
const named = (choice) => (has(`assistant.${choice}`) ? t(`assistant.${choice}`) : choice);

/** Shows one that runs, such as one that another page began. @param {HTMLElement} place @param {AbortSignal} signal @param {() => void} after */
export async function showInstallation(place, signal, after) {
  const { state } = await get("/assistant/install", {}, signal).catch(() => ({ state: "idle" }));
  if (state !== "running" || signal.aborted) return;
  const installer = new Installer(signal);
  fill(place, installer.element);
  const end = await installer.follow();
  fill(place, end.state === "failed" ? notice("bad", h("p", null, t("assistant.install.failed")), h("p", null, end.error)) : null);
  after();
}
