// Finds turns of all devices. What is asked for stands in the address.

import { button, card, empty, field, loading, notice, select } from "../../components/controls.js";
import { saveJson } from "../../components/file.js";
import { toast } from "../../components/toast.js";
import { turnElement } from "../../components/turn.js";
import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { dateTime } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { poll } from "../../lib/poll.js";
import { href } from "../../lib/router.js";
import { fromRecord } from "../../lib/turns.js";
import "../../words/turn.js";
import { momentLink } from "./moment.js";

const OUTCOMES = ["", "answered", "not_understood", "tool_failed", "failed", "interrupted"];
const FILTERS = /** @type {const} */ (["q", "outcome", "device", "person", "profile", "day"]);
const PAGE = 20;
const SAVED = 100;
const MOST_SAVED = 10_000;
const TYPED_MS = 300;
const FOLLOW_MS = 3_000;

/** Requests that follow each other while nothing is found; the server goes through a part with each. */
const STEPS = 20;

/** @typedef {Record<(typeof FILTERS)[number], string>} Filters */

/** @param {URLSearchParams} query @param {import("../../lib/devices.js").Devices} devices @param {AbortSignal} signal */
export function search(query, devices, signal) {
  const filters = /** @type {Filters} */ (Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""])));
  const place = h("div", { class: "stack" }, loading());
  const words = h("input", { type: "search", autocomplete: "off", maxLength: 128, value: filters.q });
  const day = h("input", { type: "date", value: filters.day, onchange: () => choose("day", day.value) });
  const device = chooser("device");
  const person = chooser("person");
  const profile = chooser("profile");
  const chips = OUTCOMES.map((outcome) =>
    h("button", { type: "button", class: "chip", onclick: () => choose("outcome", outcome) },
      outcome ? t(`outcome.${outcome}`) : t("conversations.outcome.all")));
  const clear = button(t("conversations.clear"), () => {
    for (const name of FILTERS) filters[name] = "";
    words.value = day.value = "";
    changed();
  }, { icon: "close", small: true });
  const saving = button(t("conversations.save"), saveAll, { icon: "download", small: true });
  /** @type {string | null} */
  let cursor = null;
  let asked = 0; // of two answers, the one to the later question counts
  let first = true; // whether only the newest are shown
  let stale = false;
  let shown = ""; // which turns
  let typing = false;
  /** @type {ReturnType<typeof setTimeout>} */
  let typed;

  const plan = () => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      if (words.value.trim() === filters.q) return;
      filters.q = words.value.trim();
      changed({ replace: typing });
      typing = true;
    }, TYPED_MS);
  };
  words.addEventListener("input", (event) => { if (!(/** @type {InputEvent} */ (event).isComposing)) plan(); });
  words.addEventListener("compositionend", plan);
  signal.addEventListener("abort", () => clearTimeout(typed), { once: true });
  devices.addEventListener("all", drawChoices);
  watch(signal, (event) => { if (event.type === "turn.ended") stale = true; }, () => { stale = true; });
  poll(signal, FOLLOW_MS, async () => {
    // Unless somebody reads, or is in the list with the keyboard.
    if (!stale || !first || place.querySelector("details[open]") || place.contains(document.activeElement)) return;
    stale = false;
    await read(true);
  });
  /** @type {any[]} */
  let people = [];
  /** @type {any[]} */
  let profiles = [];
  void Promise.allSettled([get("/people", {}, signal), get("/profiles", {}, signal)]).then(([one, other]) => {
    if (one.status === "fulfilled") people = one.value.people;
    if (other.status === "fulfilled") profiles = other.value.profiles;
    drawChoices();
  });
  drawChoices();
  drawChips();
  void devices.ready().then(() => read(true)); // with the names of devices, and links to them
  return card(
    t("conversations.find"),
    field(t("conversations.words"), words, { hint: t("conversations.words.hint") }),
    h("div", { class: "chip-row", role: "group", "aria-label": t("conversations.outcome") }, ...chips),
    h("div", { class: "find-filters" },
      device.element, person.element, profile.element, field(t("conversations.day"), day)),
    h("div", { class: "row spread" }, clear, saving),
    place,
  );

  /** @param {"device" | "person" | "profile"} name */
  function chooser(name) {
    const control = select([], "", { onchange: () => choose(name, control.value) });
    return { name, control, element: field(t(`conversations.${name}`), control) };
  }

  function drawChoices() {
    const named = [...devices.all.values()].map((each) => /** @type {[string, string]} */ ([each.id, each.name || each.id]));
    draw(device, named.sort(([, one], [, other]) => one.localeCompare(other)));
    draw(person, people.map((each) => [each.name, each.name]));
    draw(profile, profiles.map((each) => [each.name, each.name]));
  }

  /** @param {ReturnType<typeof chooser>} of @param {[string, string][]} options */
  function draw({ name, control, element }, options) {
    const chosen = filters[name];
    const known = options.some(([value]) => value === chosen);
    /** @type {[string, string][]} */
    const all = [["", t("conversations.any")], ...options, ...(chosen && !known ? [/** @type {[string, string]} */ ([chosen, chosen])] : [])];
    fill(control, ...all.map(([value, shown]) => h("option", { value }, shown)));
    control.value = chosen;
    element.hidden = all.length === 1;
  }

  function drawChips() {
    chips.forEach((chip, at) => chip.setAttribute("aria-pressed", String(OUTCOMES[at] === filters.outcome)));
    clear.hidden = FILTERS.every((name) => !filters[name]);
  }

  /** @param {(typeof FILTERS)[number]} name @param {string} value */
  function choose(name, value) {
    filters[name] = value;
    changed();
  }

  /** @param {{replace?: boolean}} [how] */
  function changed({ replace = false } = {}) {
    typing = false;
    const set = Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
    // The page is not opened anew: the field keeps the focus.
    history[replace ? "replaceState" : "pushState"](null, "", href(["conversations"], set));
    drawChips();
    drawChoices();
    shown = "";
    fill(place, loading());
    void read(true);
  }

  /** Returns what the API is asked for. */
  function asks() {
    const { q, day: date, ...rest } = filters;
    const from = date ? new Date(`${date}T00:00`) : null;
    const to = from && new Date(from.getFullYear(), from.getMonth(), from.getDate() + 1);
    return { search: q, ...rest, after: from?.getTime(), before: to?.getTime() };
  }

  /** @param {boolean} anew */
  async function read(anew) {
    asked += 1;
    const mine = asked;
    if (anew) cursor = "";
    first = anew;
    try {
      /** @type {any[]} */
      let turns = [];
      for (let step = 0; step < STEPS && !turns.length && cursor !== null; step += 1) {
        if (step === 1 && anew && !shown) fill(place, h("p", { class: "loading", role: "status" }, t("conversations.searching")));
        const found = await get("/turns", { ...asks(), limit: PAGE, cursor }, signal);
        if (mine !== asked) return;
        turns = found.turns;
        cursor = found.cursor;
      }
      show(turns, anew);
    } catch (error) {
      if (signal.aborted || mine !== asked) return;
      if (!anew) throw error; // the button tells it
      if (shown) return console.warn(error); // what is shown is kept
      const again = button(t("retry"), () => read(true), { icon: "refresh" });
      fill(place, notice("bad", h("p", null, /** @type {Error} */ (error).message), again));
    }
  }

  /** @param {any[]} turns @param {boolean} anew */
  function show(turns, anew) {
    const keys = turns.map((turn) => `${turn.session_id}/${turn.turn}`).join();
    if (anew && keys && keys === shown) return;
    shown = anew ? keys : "";
    if (anew) fill(place);
    place.querySelector(".more-button")?.remove();
    const list = place.querySelector("ol") ?? h("ol", { class: "found" });
    list.append(...turns.map(element));
    if (list.firstChild) place.append(list);
    else if (cursor === null) fill(place, empty(t(clear.hidden ? "conversations.none" : "conversations.no-match")));
    saving.hidden = !list.firstChild;
    for (const bubble of list.querySelectorAll(".bubble")) mark(bubble, filters.q);
    if (cursor !== null) {
      const more = button(t(turns.length ? "conversations.more" : "conversations.further"), () => read(false), { small: true });
      more.classList.add("more-button");
      place.append(more);
    }
  }

  /** @param {any} record */
  function element(record) {
    return h("li", { class: "found-turn" },
      h("p", { class: "row" }, momentLink(devices, record), h("span", { class: "muted small" }, dateTime(record.at))),
      turnElement(fromRecord(record), record.device_id));
  }

  async function saveAll() {
    /** @type {any[]} */
    const turns = [];
    /** @type {string | null} */
    let at = "";
    while (at !== null && turns.length < MOST_SAVED) {
      /** @type {any} */
      const found = await get("/turns", { ...asks(), limit: SAVED, cursor: at }, signal);
      turns.push(...found.turns);
      at = found.cursor;
    }
    saveJson("conversations", new Blob([JSON.stringify({ turns })], { type: "application/json" }));
    if (at !== null) toast(t("conversations.saved.part", { count: turns.length }));
  }
}

/** Marks words where they stand in an element. @param {Element} element @param {string} words */
function mark(element, words) {
  const terms = words.split(/\s+/).filter(Boolean).map((term) => term.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  if (!terms.length || element.querySelector("mark")) return;
  const pattern = new RegExp(`(${terms.join("|")})`, "giu");
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */
  const texts = [];
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  for (const text of texts) {
    if (text.parentElement?.closest(".visually-hidden, .badge")) continue;
    const pieces = text.data.split(pattern);
    if (pieces.length > 1) text.replaceWith(...pieces.map((piece, at) => (at % 2 ? h("mark", null, piece) : piece)));
  }
}
