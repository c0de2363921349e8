// All devices, live: those that wait for their claim first, then a row for each.

import { badge, button, empty, field, loading, notice, select, showError } from "../components/controls.js";
import { confirmed, openDialog } from "../components/dialog.js";
import { icon } from "../components/icon.js";
import { stateBadge } from "../components/state.js";
import { time } from "../components/time.js";
import { toast } from "../components/toast.js";
import { get, part, patch, post, put, remove } from "../lib/api.js";
import { Devices, stateNow } from "../lib/devices.js";
import { fill, h, setText } from "../lib/dom.js";
import { listed, t } from "../lib/i18n.js";
import { href } from "../lib/router.js";
import "../words/devices.js";

/** @param {import("../app.js").PageContext} context */
export function page({ root, signal, title }) {
  title(t("nav.devices"));
  const devices = new Devices(signal);
  const chosen = /** @type {Set<string>} */ (new Set());
  /** @type {Map<string, Row>} */
  const rows = new Map();
  const search = h("input", { type: "search", autocomplete: "off", oninput: () => draw() });
  const filter = select(
    [["", t("devices.all")], ["online", t("devices.online")], ["asleep", t("state.asleep")], ["waiting", t("state.waiting")], ["blocked", t("state.blocked")]],
    "",
    { onchange: () => draw() },
  );
  const waiting = h("section", { class: "waiting stack", "aria-label": t("devices.waiting") });
  const list = h("ul", { class: "device-list", "aria-label": t("nav.devices") });
  const place = h("div", { class: "stack" }, loading());
  const count = h("p", { class: "muted small", role: "status" });
  const several = h("div", { class: "several row", role: "group", "aria-label": t("devices.several") });

  fill(
    root,
    h("div", { class: "page-head" },
      h("h1", null, t("nav.devices")),
      h("div", { class: "row" },
        button(t("devices.announce"), announce, { icon: "bell" }),
        h("a", { href: href(["add"]), class: "button primary" }, icon("plus"), h("span", null, t("devices.claim"))))),
    waiting,
    h("div", { class: "filters" },
      field(t("search"), search),
      field(t("devices.show"), filter)),
    several,
    count,
    place,
  );

  devices.addEventListener("all", draw);
  devices.addEventListener("changed", (event) => {
    const id = /** @type {CustomEvent} */ (event).detail;
    const row = rows.get(id);
    const device = devices.all.get(id);
    const listed = row?.element.isConnected; // what did not match before is not
    if (row && listed && device && stateNow(device) !== "waiting" && matches(device)) row.show(device);
    else plan();
  });

  // Many changes at once are drawn once.
  let planned = false;
  function plan() {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => {
      planned = false;
      if (!signal.aborted) draw();
    });
  }

  /** @param {any} device */
  function matches(device) {
    const words = search.value.trim().toLowerCase();
    const text = [device.name, device.id, device.board, device.place, device.profile, device.address].join(" ").toLowerCase();
    const state = stateNow(device);
    const asked = filter.value;
    return text.includes(words) && (!asked || asked === state || (asked === "online" && device.online));
  }

  function draw() {
    drawWaiting();
    if (devices.error && !devices.all.size) {
      const again = button(t("retry"), () => devices.read(), { icon: "refresh" });
      return fill(place, notice("bad", h("p", null, devices.error.message), again));
    }
    if (!devices.loaded) return;
    const found = [...devices.all.values()].filter(matches).sort(order);
    for (const id of [...chosen]) if (!devices.all.has(id)) chosen.delete(id);
    setText(count, t("devices.count", { count: found.length, total: devices.all.size, online: [...devices.all.values()].filter((each) => each.online).length }));
    if (!devices.all.size) {
      return fill(place, empty(t("devices.none"), h("a", { href: href(["talk"]), class: "button plain" }, t("devices.none.talk"))));
    }
    if (!found.length) return fill(place, empty(t("devices.no-match")));
    const wanted = found.map((device) => {
      let row = rows.get(device.id);
      if (!row) {
        row = new Row(device, chosen, drawSeveral, rename);
        rows.set(device.id, row);
      }
      row.show(device);
      return row.element;
    });
    reorder(list, wanted);
    if (list.parentElement !== place) fill(place, list);
    drawSeveral();
  }

  function drawWaiting() {
    const found = [...devices.all.values()].filter((each) => stateNow(each) === "waiting");
    fill(waiting, ...found.slice(0, 20).map((device) =>
      h("div", { class: "notice warn claim" },
        h("div", null,
          h("p", null, h("b", null, t("devices.new", { board: device.board || t("devices.unknown") })), " ", h("span", { class: "code mono" }, device.code)),
          h("p", { class: "small" }, [device.id, device.address, device.firmware].filter(Boolean).join(" · "))),
        h("a", { href: href(["add", device.id]), class: "button primary" }, t("devices.claim.this")))));
  }

  function drawSeveral() {
    several.hidden = !chosen.size;
    if (!chosen.size) return fill(several);
    fill(
      several,
      h("b", null, t("devices.chosen", { count: chosen.size })),
      button(t("devices.profile.give"), giveProfile, { small: true, icon: "profiles" }),
      button(t("devices.say"), sayTo, { small: true, icon: "bell" }),
      button(t("devices.block"), blockAll, { small: true, kind: "danger" }),
      button(t("devices.forget"), forgetAll, { small: true, kind: "danger", icon: "trash" }),
      button(t("devices.unchoose"), () => { chosen.clear(); draw(); }, { small: true }),
    );
  }

  async function announce() {
    await speak(t("devices.announce.title"), []);
  }

  async function sayTo() {
    await speak(t("devices.say.title", { count: chosen.size }), [...chosen]);
  }

  /** @param {string} words @param {string[]} to */
  async function speak(words, to) {
    const text = h("textarea", { required: true, maxLength: 500 });
    await openDialog(
      {
        title: words,
        act: t("devices.announce.act"),
        run: async () => {
          await post("/announcements", { text: text.value.trim(), devices: to });
          toast(t("devices.announced"));
        },
      },
      field(t("devices.announce.text"), text, { hint: t("devices.announce.hint") }),
    );
  }

  async function giveProfile() {
    const { profiles } = await get("/profiles", {}, signal);
    const which = select([["", t("devices.profile.none")], ...profiles.map((/** @type {any} */ each) => /** @type {[string, string]} */ ([each.name, each.name]))]);
    await openDialog(
      {
        title: t("devices.profile.title", { count: chosen.size }),
        act: t("save"),
        run: () => each((id) => put(`/devices/${part(id)}/profile`, { profile: which.value })),
      },
      field(t("devices.profile"), which),
    );
  }

  const names = () => listed([...chosen].map((id) => devices.all.get(id)?.name || id).slice(0, 12));

  async function forgetAll() {
    await confirmed({
      title: t("devices.forget.title", { count: chosen.size }),
      text: t("devices.forget.text", { names: names() }),
      act: t("devices.forget"),
      run: () => each((id) => remove(`/devices/${part(id)}`)),
    });
  }

  /** @param {any} device */
  async function rename(device) {
    const name = h("input", { type: "text", maxLength: 64, value: device.name, autocomplete: "off" });
    await openDialog(
      {
        title: t("devices.rename.title", { name: device.name || device.id }),
        act: t("save"),
        run: async () => {
          await patch(`/devices/${part(device.id)}`, { name: name.value.trim() });
          await devices.readOne(device.id);
        },
      },
      field(t("devices.name"), name, { hint: t("devices.name.hint") }),
    );
  }

  async function blockAll() {
    await confirmed({
      title: t("devices.block.title", { count: chosen.size }),
      text: names(),
      act: t("devices.block"),
      run: () => each((id) => post(`/devices/${part(id)}/block`)),
    });
  }

  /** Does something with each chosen device, a few at a time. @param {(id: string) => Promise<any>} act */
  async function each(act) {
    const ids = [...chosen];
    let failed = 0;
    const next = async () => {
      for (let id = ids.pop(); id; id = ids.pop()) {
        await act(id).then(() => chosen.delete(/** @type {string} */ (id)), (error) => {
          failed += 1;
          if (failed === 1) showError(error);
        });
      }
    };
    await Promise.all([next(), next(), next(), next()]);
    await devices.read();
  }
}

/** Those that do something first, then by name. @param {any} a @param {any} b */
function order(a, b) {
  const rank = (/** @type {any} */ device) => (device.online ? 0 : stateNow(device) === "waiting" ? 1 : 2);
  return rank(a) - rank(b) || (a.name || "~").localeCompare(b.name || "~") || a.id.localeCompare(b.id);
}

/** Puts the elements in order, moving only those that are out of it. @param {Element} list @param {Element[]} wanted */
function reorder(list, wanted) {
  let at = list.firstElementChild;
  for (const element of wanted) {
    if (element === at) at = at.nextElementSibling;
    else list.insertBefore(element, at);
  }
  while (at) {
    const next = at.nextElementSibling;
    at.remove();
    at = next;
  }
}

/** One device in the list. */
class Row {
  #name = h("a", { class: "device-name" });
  #id = h("span", { class: "mono small muted" });
  #state = stateBadge("asleep");
  #heard = h("p", { class: "heard" });
  #said = h("p", { class: "said" });
  #facts = h("p", { class: "small muted facts" });
  #seen = time(0);
  #labels = h("div", { class: "row" });
  #labelled = "";

  #device;

  /**
   * @param {any} device @param {Set<string>} chosen @param {() => void} changed
   * @param {(device: any) => Promise<void>} rename
   */
  constructor(device, chosen, changed, rename) {
    this.#device = device;
    const check = h("input", {
      type: "checkbox",
      checked: chosen.has(device.id),
      onchange: () => {
        if (check.checked) chosen.add(device.id);
        else chosen.delete(device.id);
        changed();
      },
    });
    this.check = check;
    this.chosen = chosen;
    this.element = h(
      "li",
      { class: "device" },
      check,
      h("div", { class: "who" },
        h("div", { class: "row" }, this.#name, button(t("devices.rename"), () => rename(this.#device), { iconOnly: true, small: true, icon: "edit" })),
        this.#id),
      h("div", { class: "now" }, this.#state, this.#seen),
      h("div", { class: "last" }, this.#heard, this.#said),
      h("div", { class: "more" }, this.#labels, this.#facts),
    );
    this.#name.href = href(["device", device.id]);
  }

  /** @param {any} device */
  show(device) {
    this.#device = device;
    setText(this.#name, device.name || t("devices.unnamed"));
    setText(this.#id, device.id);
    this.#state.value = stateNow(device);
    this.#seen.at = device.live?.since ?? device.last_seen;
    const words = device.live?.heard || device.live?.said ? device.live : device.last;
    setText(this.#heard, words?.heard ?? "");
    setText(this.#said, words?.said ?? "");
    this.check.checked = this.chosen.has(device.id);
    this.check.setAttribute("aria-label", t("devices.choose", { name: device.name || device.id }));
    const labels = [device.profile, device.place].filter(Boolean);
    if (labels.join("\n") !== this.#labelled) {
      this.#labelled = labels.join("\n");
      fill(this.#labels, ...labels.map((each) => badge(each)));
    }
    const signal = device.rssi ? t("devices.signal", { dbm: device.rssi }) : "";
    setText(this.#facts, [device.board, device.firmware, signal].filter(Boolean).join(" · "));
  }
}
