// Memory and people: what is to be said, announcements, people, what is remembered of devices, documents.

import { tabs } from "../components/tabs.js";
import { fill, h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { href } from "../lib/router.js";
import "../words/memory.js";
import { announcements } from "./memory/announce.js";
import { deviceMemory } from "./memory/device.js";
import { deviceMemories } from "./memory/devices.js";
import { papers } from "./memory/papers.js";
import { people } from "./memory/people.js";
import { person } from "./memory/person.js";
import { reminders } from "./memory/reminders.js";

/** @typedef {(panel: HTMLElement, signal: AbortSignal) => void} Draw */

/** @param {import("../app.js").PageContext} context */
export function page({ root, path, signal, title }) {
  title(t("memory.title"));
  const [chosen = "reminders", first = ""] = path;
  let of = first; // whose details the address names: until another tab is chosen

  /** The details of what the address names, or else the list. @param {Draw} list @param {(panel: HTMLElement, signal: AbortSignal, of: string) => void} details @returns {Draw} */
  const either = (list, details) => (panel, ending) => (of ? details(panel, ending, of) : list(panel, ending));

  /** @type {[string, Draw][]} */
  const all = [
    ["reminders", reminders],
    ["announce", announcements],
    ["people", either(people, person)],
    ["devices", either(deviceMemories, deviceMemory)],
    ["papers", papers],
  ];
  let begun = false;
  const shown = tabs(
    all.map(([name, draw]) => ({
      name,
      words: t(`memory.tab.${name}`),
      draw: (panel, ending) => {
        if (begun) {
          of = "";
          history.replaceState(null, "", href(["memory", name])); // without the page being opened anew
        }
        begun = true;
        draw(panel, ending);
      },
    })),
    signal,
    { chosen, label: t("memory.tabs") },
  );
  fill(root, h("h1", null, t("memory.title")), shown);
}
