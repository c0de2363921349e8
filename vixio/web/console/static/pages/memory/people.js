// The people whom devices belong to.

import { button, empty, field, loading } from "../../components/controls.js";
import { openDialog } from "../../components/dialog.js";
import { toast } from "../../components/toast.js";
import { ApiError, get, post } from "../../lib/api.js";
import { Devices } from "../../lib/devices.js";
import { fill, h } from "../../lib/dom.js";
import { listed, t } from "../../lib/i18n.js";
import { deviceName } from "../../lib/names.js";
import { go, href } from "../../lib/router.js";
import { aboutMemory, follow, has, Keyed, memories, searchField } from "./parts.js";

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export function people(panel, signal) {
  const devices = new Devices(signal);
  /** @type {any[] | null} */
  let everybody = null;
  /** @type {Map<string, any>} */
  let remembered = new Map();
  const search = searchField(t("people.search"), draw);
  const place = h("div", null, loading());
  const list = h("ul", { class: "lines boxed" });
  const keyed = new Keyed(list);
  fill(
    panel,
    h("div", { class: "memory-head" }, search.element, button(t("people.add"), add, { kind: "primary", icon: "plus" })),
    place,
  );
  follow({
    signal,
    place,
    read,
    concerns: (event) => aboutMemory(event) || (event.type === "changed" && event.about === "device"),
  });
  devices.addEventListener("all", draw);

  async function read() {
    const [found, known] = await Promise.all([get("/people", {}, signal), memories("person", signal).catch(unlessOff)]);
    everybody = found.people;
    remembered = known;
    draw();
  }

  function draw() {
    if (!everybody) return;
    if (!everybody.length) return fill(place, empty(t("people.none")));
    /** @param {any} each */
    const names = (each) => each.devices.map((/** @type {string} */ id) => deviceName(devices.all, id));
    const shown = everybody.filter((each) => has(search.control.value, each.name, ...names(each)));
    if (!shown.length) return fill(place, empty(t("memory.no-match")));
    keyed.show(shown, (each) => each.id, (each) => JSON.stringify([each, names(each), remembered.get(each.id)?.facts]), (each) =>
      h("li", { class: "line" },
        h("div", { class: "line-main" },
          h("a", { class: "line-name", href: href(["memory", "people", each.id]) }, each.name),
          h("p", { class: "small muted" }, listed(names(each)))),
        h("p", { class: "line-more small muted" },
          [t("people.devices.count", { count: each.devices.length }), t("dm.facts", { count: remembered.get(each.id)?.facts ?? 0 })].join(" · "))));
    if (list.parentElement !== place) fill(place, list);
  }

  /** Without a memory, people have names and devices all the same. @param {unknown} error @returns {Map<string, any>} */
  function unlessOff(error) {
    if (error instanceof ApiError && error.status === 409) return new Map();
    throw error;
  }

  async function add() {
    const name = h("input", { type: "text", required: true, maxLength: 64, autocomplete: "off" });
    await openDialog(
      {
        title: t("people.add"),
        act: t("people.add"),
        run: async () => {
          const found = await post("/people", { name: name.value.trim() });
          toast(t("people.added", { name: found.name }));
          go(["memory", "people", found.id]);
        },
      },
      field(t("people.name"), name, { hint: t("people.name.hint") }),
    );
  }
}
