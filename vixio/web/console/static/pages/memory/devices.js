// Of which devices something is remembered.

import { empty, loading } from "../../components/controls.js";
import { Devices } from "../../lib/devices.js";
import { fill, h, setText } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { href } from "../../lib/router.js";
import { aboutMemory, follow, has, Keyed, memories, searchField } from "./parts.js";

const SHOWN = 200;

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export function deviceMemories(panel, signal) {
  const devices = new Devices(signal);
  /** @type {Map<string, any> | null} */
  let remembered = null;
  const search = searchField(t("dm.search"), draw);
  const place = h("div", null, loading());
  const list = h("ul", { class: "lines boxed" });
  const keyed = new Keyed(list);
  const count = h("p", { class: "small muted", role: "status" });
  fill(panel, search.element, place, count);
  follow({
    signal,
    place,
    read: async () => {
      remembered = await memories("device", signal);
      draw();
    },
    concerns: (event) => aboutMemory(event) || event.type === "turn.ended",
  });
  devices.addEventListener("all", draw);

  function draw() {
    if (!remembered || !devices.loaded) return;
    const ids = new Set([...remembered.keys(), ...devices.all.keys()]); // the last written first
    const all = [...ids].map((id) => ({ id, device: devices.all.get(id), memory: remembered?.get(id) }));
    const found = all.filter(({ id, device }) => has(search.control.value, id, device?.name, device?.person, device?.place));
    const shown = found.slice(0, SHOWN);
    setText(count, found.length > SHOWN ? t("memory.shown", { count: SHOWN, total: found.length }) : "");
    if (!shown.length) return fill(place, empty(t(all.length ? "memory.no-match" : "dm.none")));
    keyed.show(shown, ({ id }) => id, ({ device, memory }) => JSON.stringify([device?.name, device?.person, device?.place, memory, Boolean(device)]), item);
    if (list.parentElement !== place) fill(place, list);
  }

  /** @param {{id: string, device: any, memory: any}} each */
  function item({ id, device, memory }) {
    const about = [device?.person, device?.place, device ? "" : t("dm.unlisted")];
    return h("li", { class: "line" },
      h("div", { class: "line-main" },
        h("a", { class: "line-name", href: href(["memory", "devices", id]) }, device?.name || id),
        h("p", { class: "small muted" }, about.filter(Boolean).join(" · "))),
      h("p", { class: "line-more small muted" }, amount(memory)));
  }
}

/** How much is remembered, in words. @param {any} memory */
function amount(memory) {
  if (!memory) return t("dm.nothing");
  const parts = [
    memory.facts ? t("dm.facts", { count: memory.facts }) : "",
    memory.turns ? t("dm.turns", { count: memory.turns }) : "",
    memory.summary ? t("dm.summary") : "",
  ];
  return parts.filter(Boolean).join(" · ") || t("dm.nothing");
}
