// What is remembered of one device: its own facts, the summary, the last turns.

import { button, card, empty, field, loading, notice, setFieldError } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { icon } from "../../components/icon.js";
import { toast } from "../../components/toast.js";
import { ApiError, get, part, put, remove } from "../../lib/api.js";
import { fill, h, setText } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { href } from "../../lib/router.js";
import { factsCard } from "./facts.js";
import { aboutMemory, follow, refuse } from "./parts.js";

const MAX_SHOWN = 500;
/** Characters of a tool's arguments and result. */

/** @param {HTMLElement} panel @param {AbortSignal} signal @param {string} id */
export function deviceMemory(panel, signal, id) {
  const path = `/devices/${part(id)}/memory`;
  /** @type {any} */
  let device = null;
  /** @type {any} */
  let remembered = null;
  const name = h("h2", { class: "memory-name" }, id);
  const mac = h("span", { class: "mono small muted" });
  const link = h("a", { class: "button plain", href: href(["device", id]) }, icon("devices"), h("span", null, t("dm.device")));
  const place = h("div", { class: "stack" }, loading());
  const owner = h("div");
  const facts = factsCard({ title: t("dm.own"), path: `${path}/facts`, changed: () => again(), before: [owner] });
  const summary = h("textarea", { maxLength: 2000 });
  const turns = h("div");
  const summaryCard = card(t("dm.summary.title"),
    field(t("dm.summary.label"), summary, { hint: t("dm.summary.hint") }),
    h("div", { class: "row" }, button(t("save"), save, { icon: "check" })));
  const whole = [
    h("div", { class: "page-head" },
      h("div", { class: "row" }, name, mac),
      h("div", { class: "row" }, link, button(t("dm.erase"), erase, { icon: "trash", kind: "danger" }))),
    h("div", { class: "grid" }, facts.element, summaryCard),
    card(t("dm.turns.title"), turns),
  ];
  fill(panel, h("a", { class: "back", href: href(["memory", "devices"]) }, icon("left"), t("dm.back")), place);
  const again = follow({
    signal,
    place,
    read,
    concerns: (event) =>
      aboutMemory(event) ||
      (event.device_id === id && (event.type === "turn.ended" || (event.type === "changed" && event.about === "device"))),
  });

  async function read() {
    device = await found(get(`/devices/${part(id)}`, {}, signal));
    const memory = await found(get(path, {}, signal));
    if (!memory) return fill(place, notice("warn", h("p", null, t("dm.missing"))));
    const before = remembered?.summary ?? "";
    remembered = memory;
    if (summary.value === before || !summary.isConnected) summary.value = memory.summary; // not what is being written
    draw();
  }

  function draw() {
    setText(name, device?.name || id);
    setText(mac, device?.name ? id : device ? "" : t("dm.unlisted"));
    link.hidden = !device;
    const person = device?.person;
    owner.hidden = !person;
    fill(owner, person
      ? notice("info", h("p", null, t("dm.of", { name: person })), h("a", { href: href(["memory", "people", person]) }, t("dm.of.link", { name: person })))
      : null);
    facts.allow(!person);
    facts.show(remembered);
    fill(turns, remembered.turns.length
      ? h("ol", { class: "turns", tabIndex: 0, "aria-label": t("dm.turns.title") }, ...remembered.turns.map((/** @type {any[]} */ items) => h("li", { class: "turn" }, ...items.map(line))))
      : empty(t("dm.turns.none")));
    if (whole[0].parentElement !== place) fill(place, ...whole);
  }

  async function save() {
    setFieldError(summary, "");
    try {
      const written = await put(`${path}/summary`, { summary: summary.value, expected: remembered.summary });
      remembered.summary = written.summary;
      summary.value = written.summary;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      await again();
      refuse(summary, t("dm.summary.other", { text: remembered.summary }));
    }
    toast(t(summary.value ? "dm.summary.saved" : "dm.summary.erased"));
  }

  async function erase() {
    const words = device?.name || id;
    await confirmed({
      title: t("dm.erase.title", { name: words }),
      text: t("dm.erase.text"),
      act: t("erase"),
      run: async () => {
        await remove(path);
        toast(t("dm.erased", { name: words }));
        summary.value = remembered.summary;
        await again();
      },
    });
  }
}

/** What is found; null: there is no such thing. @param {Promise<any>} request */
async function found(request) {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** A line of a turn. @param {any} item as a model is given it */
function line(item) {
  if (item.role) {
    return h("p", { class: `said-${item.role}` }, h("span", { class: "small muted" }, t(item.role === "user" ? "dm.user" : "dm.assistant")), " ", item.content);
  }
  const called = item.type === "function_call";
  const words = called ? `${item.name} ${item.arguments}` : String(item.output);
  return h("p", { class: "small" }, h("span", { class: "muted" }, t(called ? "dm.tool" : "dm.result")), " ", h("code", null, words.slice(0, MAX_SHOWN)));
}
