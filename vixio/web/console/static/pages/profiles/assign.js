// Which devices have the profile: chosen right here.

import { badge, button, card, empty, field, loading, notice, showError } from "../../components/controls.js";
import { stateBadge } from "../../components/state.js";
import { toast } from "../../components/toast.js";
import { part, put } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { stateNow } from "../../lib/devices.js";
import { t } from "../../lib/i18n.js";
import { deviceLabel } from "../../lib/names.js";

const MOST = 100;

/** @param {import("./editor.js").Editor} editor */
export function assignCard(editor) {
  const { devices, name } = editor;
  const search = h("input", { type: "search", autocomplete: "off", oninput: () => draw() });
  const place = h("div", { class: "stack" }, loading());
  const busy = new Set();

  function draw() {
    if (devices.error && !devices.all.size) return fill(place, notice("bad", h("p", null, devices.error.message), button(t("retry"), () => devices.read(), { icon: "refresh" })));
    if (!devices.loaded) return;
    if (!devices.all.size) return fill(place, empty(t("profiles.devices.none")));
    const words = search.value.trim().toLowerCase();
    const found = [...devices.all.values()]
      .filter((each) => `${each.name} ${each.id} ${each.board} ${each.profile ?? ""}`.toLowerCase().includes(words))
      .sort((a, b) => Number(b.profile === name) - Number(a.profile === name) || (a.name || "~").localeCompare(b.name || "~") || a.id.localeCompare(b.id));
    const focused = /** @type {HTMLElement | null} */ (place.contains(document.activeElement) ? document.activeElement : null)?.dataset.device;
    fill(place,
      found.length ? h("ul", { class: "assign-list" }, ...found.slice(0, MOST).map(row)) : empty(t("devices.no-match")),
      found.length > MOST ? h("p", { class: "small muted" }, t("profiles.devices.more", { count: found.length - MOST })) : null);
    if (focused) /** @type {HTMLElement | null} */ (place.querySelector(`[data-device="${CSS.escape(focused)}"]`))?.focus();
  }

  /** @param {any} device */
  function row(device) {
    const check = h("input", { type: "checkbox", checked: device.profile === name, "data-device": device.id, "aria-busy": busy.has(device.id) ? "true" : null, onchange: () => assign(device, check) });
    const other = device.profile && device.profile !== name ? badge(t("profiles.devices.other", { name: device.profile })) : null;
    return h("li", null,
      h("label", { class: "check" }, check, h("span", { title: device.id }, h("b", null, device.name ? deviceLabel(device, devices.all.values()) : t("devices.unnamed")), " ", device.name ? null : h("span", { class: "small muted mono" }, device.id), " ", other)),
      stateBadge(stateNow(device)));
  }

  /** @param {any} device @param {HTMLInputElement} check */
  async function assign(device, check) {
    if (busy.has(device.id)) return;
    busy.add(device.id);
    const wanted = check.checked;
    try {
      await put(`/devices/${part(device.id)}/profile`, { profile: wanted ? name : "" });
      toast(t(wanted ? "profiles.devices.given" : "profiles.devices.taken", { device: device.name || device.id, name }));
    } catch (error) {
      showError(error);
    } finally {
      busy.delete(device.id);
    }
    await devices.readOne(device.id);
    void editor.checker.ask();
    draw();
  }

  devices.addEventListener("all", draw, { signal: editor.signal });
  let planned = false;
  devices.addEventListener("changed", () => {
    if (planned) return;
    planned = true; // many changes at once are drawn once
    requestAnimationFrame(() => {
      planned = false;
      if (!editor.signal.aborted) draw();
    });
  }, { signal: editor.signal });
  draw();
  return card(t("profiles.devices"), h("p", { class: "small muted" }, t("profiles.devices.about")), field(t("search"), search), place);
}
