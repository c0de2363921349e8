// One device: its conversation as it happens, what can be asked of it, its tools and its past.

import { badge, button, loading, notice } from "../components/controls.js";
import { icon } from "../components/icon.js";
import { stateBadge } from "../components/state.js";
import { tabs } from "../components/tabs.js";
import { time } from "../components/time.js";
import { get, part, remove } from "../lib/api.js";
import { applyEvent, stateNow } from "../lib/devices.js";
import { fill, h, setText } from "../lib/dom.js";
import { watch } from "../lib/feed.js";
import { t } from "../lib/i18n.js";
import { href } from "../lib/router.js";
import "../words/device.js";
import "../words/devices.js";
import { controls } from "./device/controls.js";
import { conversation } from "./device/conversation.js";
import { details } from "./device/details.js";
import { past } from "./device/past.js";
import { tools } from "./device/tools.js";

/**
 * What the parts of the page share. `device` changes; `changed` is dispatched then.
 * @typedef {EventTarget & {device: any, path: string, name: string, signal: AbortSignal, read: () => Promise<void>}} DeviceContext
 */

/** @param {import("../app.js").PageContext} context */
export async function page({ root, path, query, signal, title }) {
  const id = path[0] ?? "";
  title(id);
  fill(root, back(), loading());
  const context = new Context(id, signal);
  try {
    await context.read();
  } catch (error) {
    if (signal.aborted) return;
    const again = button(t("retry"), () => page({ root, path, query, signal, title }), { icon: "refresh" });
    return fill(root, back(), notice("bad", h("p", null, /** @type {Error} */ (error).message), again));
  }
  title(context.name);
  const name = h("h1");
  const state = stateBadge("asleep");
  const since = time(0);
  const labels = h("div", { class: "row" });
  const role = h("p", { class: "role row", role: "status" });
  const recording = h("p", { class: "recording row", role: "status" });
  const draw = () => {
    const { device } = context;
    setText(name, context.name);
    state.value = stateNow(device);
    since.at = device.live?.since ?? device.last_seen;
    role.hidden = !device.role;
    fill(role, ...(device.role ? [h("span", null, t("device.role", { role: device.role })), button(t("device.role.end"), () => endRole(context))] : []));
    const days = device.keeps_sound_days;
    recording.hidden = !days;
    fill(recording, ...(days ? [icon("mic"), h("span", null, t("device.sound-kept", { count: days }))] : []));
    fill(labels, ...[device.profile, device.place].filter(Boolean).map((each) => badge(each, "accent")));
  };
  draw();
  context.addEventListener("changed", draw);
  fill(
    root,
    back(),
    h("div", { class: "page-head" }, h("div", { class: "row" }, name, state, since), labels),
    role,
    recording,
    h("div", { class: "device-page" },
      tabs(
        [
          { name: "live", words: t("device.live"), draw: (panel, end) => conversation(panel, context, end) },
          { name: "past", words: t("device.past"), draw: (panel, end) => past(panel, context, end, query) },
          { name: "tools", words: t("device.tools"), draw: (panel, end) => tools(panel, context, end) },
          { name: "details", words: t("device.details"), draw: (panel) => details(panel, context) },
        ],
        signal,
        { label: context.name, chosen: path[1] },
      ),
      h("aside", { class: "stack", "aria-label": t("device.controls") }, ...controls(context))),
  );
}

/** @param {Context} context */
async function endRole(context) {
  await remove(`${context.path}/role`);
  await context.read();
}

function back() {
  return h("a", { href: href(["devices"]), class: "back row" }, icon("left"), t("nav.devices"));
}

class Context extends EventTarget {
  /** @type {any} */
  device = null;

  /** @param {string} id @param {AbortSignal} signal */
  constructor(id, signal) {
    super();
    this.id = id;
    this.signal = signal;
    watch(signal, (event) => this.#receive(event), () => void this.read().catch(() => undefined));
  }

  get path() {
    return `/devices/${part(this.device?.id ?? this.id)}`;
  }

  /** What it is called. @returns {string} */
  get name() {
    return this.device.name || this.device.id;
  }

  async read() {
    this.device = await get(`/devices/${part(this.id)}`, {}, this.signal);
    this.dispatchEvent(new CustomEvent("changed"));
  }

  /** @param {import("../lib/feed.js").FeedEvent} event */
  #receive(event) {
    if (event.type === "changed" && event.about === "profile") return void this.read().catch(() => undefined);
    if (!this.device || event.device_id !== this.device.id) return;
    if (event.type === "changed" && event.about === "device") void this.read().catch(() => undefined);
    else if (event.type !== "changed" && applyEvent(this.device, event)) this.dispatchEvent(new CustomEvent("changed"));
  }
}
