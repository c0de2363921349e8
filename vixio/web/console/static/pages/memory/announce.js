// Announcements: to all, to rooms, to chosen devices; and who has heard them.

import { button, card, empty, field, loading, notice, select, busy, setFieldError, showError } from "../../components/controls.js";
import { time } from "../../components/time.js";
import { toast } from "../../components/toast.js";
import { get, post } from "../../lib/api.js";
import { Devices } from "../../lib/devices.js";
import { fill, h, uniqueId } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { deviceLabel, deviceName } from "../../lib/names.js";
import { href } from "../../lib/router.js";
import { aboutReminders, deliveryBadge } from "./delivery.js";
import { follow, has, Keyed, refuse, searchField } from "./parts.js";

const LIMIT = 250;
const MANY = 8;
/** Devices from which on there is a search. */

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export function announcements(panel, signal) {
  const devices = new Devices(signal);
  /** @type {any[]} */
  let places = [];
  /** @type {Set<string>} */
  const chosenPlaces = new Set();
  /** @type {Set<string>} */
  const chosenDevices = new Set();
  const text = h("textarea", { required: true, maxLength: 500 });
  const priority = select(["low", "normal", "high"].map((each) => /** @type {[string, string]} */ ([each, t(`reminders.priority.${each}`)])), "normal");
  const group = uniqueId("to");
  const radios = ["all", "places", "devices"].map((each) =>
    h("input", { type: "radio", name: group, value: each, checked: each === "all", onchange: () => drawChoice() }));
  const choice = h("div", { class: "stack" });
  const options = h("div", { class: "choices", role: "group" });
  const search = searchField(t("dm.search"), () => drawOptions());
  const send = button(t("announce.act"), null, { kind: "primary", icon: "bell", type: "submit" });
  const results = h("div", null, loading());
  const list = h("ul", { class: "lines" });
  const keyed = new Keyed(list);
  /** @type {Set<string>} */
  const open = new Set();
  /** @type {any[][] | null} */
  let found = null;

  fill(
    panel,
    card(t("announce.new"),
      h("form", { class: "stack", onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); void busy(send, announce); } },
        field(t("announce.text"), text, { hint: t("announce.hint") }),
        h("fieldset", { class: "choices" }, h("legend", null, t("announce.to")),
          ...radios.map((radio) => h("label", { class: "check" }, radio, t(`announce.to.${radio.value}`)))),
        choice,
        h("div", { class: "pair" }, field(t("reminders.priority"), priority)),
        h("div", { class: "row" }, send))),
    card(t("announce.past"), results),
  );
  drawChoice();
  get("/places", {}, signal).then((answer) => { places = answer.places; drawChoice(); }, showError);
  devices.addEventListener("all", () => { drawChoice(); draw(); });
  const again = follow({ signal, place: results, read, concerns: aboutReminders });

  /** Whom it is for. */
  function to() {
    return radios.find((each) => each.checked)?.value ?? "all";
  }

  function drawChoice() {
    if (to() === "all") return fill(choice, h("p", { class: "hint" }, t("announce.to.all.hint")));
    if (to() === "places" && !places.length) return fill(choice, notice("info", h("p", null, t("announce.places.none"))));
    options.setAttribute("aria-label", t(`announce.to.${to()}`));
    const many = to() === "devices" && devices.all.size > MANY;
    fill(choice, many ? search.element : null, options);
    drawOptions();
  }

  function drawOptions() {
    const words = search.control.value;
    if (to() === "places") {
      fill(options, ...places.map((each) => check(chosenPlaces, each.name, t("announce.place.devices", { name: each.name, count: each.devices.length }))));
      return;
    }
    const shown = [...devices.all.values()]
      .filter((each) => each.state !== "blocked" && (chosenDevices.has(each.id) || has(words, each.name, each.id, each.place)))
      .sort((a, b) => (a.name || "~").localeCompare(b.name || "~") || a.id.localeCompare(b.id));
    fill(options, ...shown.slice(0, 60).map((each) => check(chosenDevices, each.id, deviceLabel(each, devices.all.values()))),
      shown.length ? null : h("p", { class: "muted" }, t(devices.all.size ? "memory.no-match" : "dm.none")));
  }

  /** @param {Set<string>} chosen @param {string} value @param {string} words */
  function check(chosen, value, words) {
    const box = h("input", {
      type: "checkbox",
      checked: chosen.has(value),
      onchange: () => { if (box.checked) chosen.add(value); else chosen.delete(value); },
    });
    return h("label", { class: "check" }, box, words);
  }

  async function announce() {
    setFieldError(text, "");
    const body = { text: text.value.trim(), priority: priority.value, devices: /** @type {string[]} */ ([]), places: /** @type {string[]} */ ([]) };
    if (to() === "places") body.places = [...chosenPlaces];
    if (to() === "devices") body.devices = [...chosenDevices];
    if (to() !== "all" && !body.places.length && !body.devices.length) refuse(text, t(`announce.need.${to()}`));
    const answer = await post("/announcements", body);
    const count = answer.reminders.length;
    if (!count) return toast(t("announce.nobody"), "bad");
    text.value = "";
    open.add(answer.reminders[0].series);
    toast(t("announce.done", { count }));
    await again();
  }

  async function read() {
    const [waiting, past] = await Promise.all([
      get("/reminders", { kind: "announcement", limit: LIMIT }, signal),
      get("/reminders", { kind: "announcement", past: true, limit: LIMIT }, signal),
    ]);
    /** @type {Map<string, any[]>} */
    const series = new Map();
    for (const each of [...waiting.reminders, ...past.reminders]) {
      series.set(each.series, [...(series.get(each.series) ?? []), each]);
    }
    found = [...series.values()].sort((a, b) => b[0].created_at - a[0].created_at);
    draw();
  }

  function draw() {
    if (!found) return;
    if (!found.length) return fill(results, empty(t("announce.none")));
    keyed.show(found, (each) => each[0].series, (each) => JSON.stringify([each, each.map(({ device_id: id }) => deviceName(devices.all, id))]), item);
    if (list.parentElement !== results) fill(results, list);
  }

  /** @param {any[]} all those of one announcement */
  function item(all) {
    const { series, text: words, created_at: at } = all[0];
    const heard = all.filter((each) => each.state === "delivered").length;
    const details = h("details", {
      open: open.has(series),
      ontoggle: () => { if (details.open) open.add(series); else open.delete(series); },
    },
      h("summary", null, h("b", null, words), " ", h("span", { class: "small muted" }, t("announce.summary", { heard, count: all.length }), " · ", time(at))),
      h("ul", { class: "heard-by" }, ...all.map((each) =>
        h("li", { class: "row" },
          h("a", { href: href(["device", each.device_id]) }, deviceName(devices.all, each.device_id)),
          deliveryBadge(each),
          each.reason ? h("span", { class: "small muted" }, each.reason) : null))));
    return h("li", { class: "line" }, details);
  }
}
