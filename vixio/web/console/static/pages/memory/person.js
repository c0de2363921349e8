// One person: the name, the devices, and the facts.

import { button, card, empty, field, loading, notice, select } from "../../components/controls.js";
import { confirmed, openDialog } from "../../components/dialog.js";
import { icon } from "../../components/icon.js";
import { toast } from "../../components/toast.js";
import { ApiError, get, part, patch, put, remove } from "../../lib/api.js";
import { Devices } from "../../lib/devices.js";
import { fill, h, setText } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { deviceLabel, deviceName } from "../../lib/names.js";
import { go, href } from "../../lib/router.js";
import { factsCard } from "./facts.js";
import { aboutMemory, follow, Keyed, showFailure } from "./parts.js";

/** @param {HTMLElement} panel @param {AbortSignal} signal @param {string} id */
export function person(panel, signal, id) {
  const devices = new Devices(signal);
  const path = `/people/${part(id)}`;
  /** @type {any} */
  let known = null;
  let count = 0;
  let removed = false;
  const name = h("h2", { class: "memory-name" });
  const place = h("div", { class: "stack" }, loading());
  const owned = h("ul", { class: "lines" });
  const keyed = new Keyed(owned);
  const none = h("div");
  const facts = factsCard({ title: t("facts.title"), path: `${path}/facts`, changed: () => again() });
  const erase = button(t("facts.erase.all"), eraseAll, { kind: "danger", icon: "trash" });
  facts.element.append(h("div", { class: "row" }, erase));
  const whole = [
    h("div", { class: "page-head" }, name,
      h("div", { class: "row" },
        button(t("people.rename"), rename, { icon: "edit" }),
        button(t("people.remove"), removePerson, { icon: "trash", kind: "danger" }))),
    facts.element,
    card(t("people.devices"), none, owned, h("div", { class: "row" }, button(t("people.give"), give, { icon: "plus" }))),
  ];
  fill(panel, h("a", { class: "back", href: href(["memory", "people"]) }, icon("left"), t("people.back")), place);
  const again = follow({
    signal,
    place,
    read,
    concerns: (event) => aboutMemory(event) || (event.type === "changed" && event.about === "device"),
  });
  devices.addEventListener("all", draw);

  async function read() {
    if (removed) return; // the news of it comes before the page is left
    try {
      known = await get(path, {}, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      return fill(place, notice("warn", h("p", null, t("people.missing"))));
    }
    if (known.id !== id) return go(["memory", "people", known.id], {}, { replace: true }); // a name may change
    draw();
    try {
      const remembered = await get(`${path}/facts`, {}, signal);
      count = remembered.facts.length;
      facts.show(remembered);
      erase.hidden = !count;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      showFailure(facts.element, error, again);
    }
  }

  function draw() {
    if (!known) return;
    setText(name, known.name);
    none.hidden = known.devices.length > 0;
    fill(none, none.hidden ? null : empty(t("people.devices.none", { name: known.name })));
    keyed.show(known.devices, (/** @type {string} */ each) => each, (each) => deviceName(devices.all, each), (each) => {
      const device = deviceName(devices.all, each);
      return h("li", { class: "line" },
        h("a", { class: "line-main", href: href(["device", each]) }, device),
        h("div", { class: "line-more" },
          button(t("people.take.short", { device, name: known.name }), () => take(each), { icon: "close", iconOnly: true })));
    });
    if (whole[0].parentElement !== place) fill(place, ...whole);
  }

  async function rename() {
    const words = h("input", { type: "text", required: true, maxLength: 64, autocomplete: "off", value: known.name });
    await openDialog(
      {
        title: t("people.rename.title", { name: known.name }),
        act: t("save"),
        run: async () => {
          known = await patch(path, { name: words.value.trim() });
          toast(t("people.renamed", { name: known.name }));
          draw();
        },
      },
      field(t("people.name"), words, { hint: t("people.name.hint") }),
    );
  }

  async function removePerson() {
    const done = await confirmed({
      title: t("people.remove.title", { name: known.name }),
      text: t("people.remove.text", { name: known.name, count }),
      act: t("people.remove"),
      run: async () => {
        removed = true;
        try {
          await remove(path);
        } catch (error) {
          removed = false;
          throw error;
        }
      },
    });
    if (!done) return;
    toast(t("people.removed", { name: known.name }));
    go(["memory", "people"], {}, { replace: true });
  }

  async function give() {
    await devices.ready();
    const others = [...devices.all.values()].filter((each) => !known.devices.includes(each.id));
    const which = select(others.map((each) => {
      const device = deviceLabel(each, devices.all.values());
      return [each.id, each.person ? t("people.give.of", { device, person: each.person }) : device];
    }));
    if (!others.length) return toast(t(devices.all.size ? "people.give.none" : "dm.none", { name: known.name }), "bad");
    await openDialog(
      {
        title: t("people.give"),
        act: t("people.give.act"),
        run: async () => {
          await put(`/devices/${part(which.value)}/person`, { person: id });
          toast(t("people.given", { device: deviceName(devices.all, which.value), name: known.name }));
          await Promise.all([again(), devices.readOne(which.value)]);
        },
      },
      field(t("reminders.device"), which),
    );
  }

  /** @param {string} each */
  async function take(each) {
    await confirmed({
      title: t("people.take.title", { device: deviceName(devices.all, each), name: known.name }),
      text: t("people.take.text", { name: known.name }),
      act: t("people.take"),
      run: async () => {
        await put(`/devices/${part(each)}/person`, { person: "" });
        await Promise.all([again(), devices.readOne(each)]);
      },
    });
  }

  async function eraseAll() {
    await confirmed({
      title: t("facts.erase.all.title", { name: known.name }),
      text: t("facts.erase.all.text", { count }),
      act: t("erase"),
      run: async () => {
        await remove(`${path}/facts`);
        toast(t("facts.all.erased", { name: known.name }));
        await again();
      },
    });
  }
}
