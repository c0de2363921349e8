// What the assistant says next by itself.

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { near } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { href } from "../../lib/router.js";
import { aboutReminders, called } from "../memory/delivery.js";
import { follow } from "../memory/parts.js";
import { nameOf } from "./awake.js";

const MOST = 4;

/** @param {HTMLElement} place @param {import("../../lib/devices.js").Devices} devices @param {AbortSignal} signal */
export function next(place, devices, signal) {
  follow({ signal, place, concerns: aboutReminders, read });

  async function read() {
    const { reminders } = await get("/reminders", { limit: MOST }, signal);
    if (!reminders.length) return fill(place, h("p", { class: "muted" }, t("home.next.none")));
    fill(place,
      h("ul", { class: "lines" }, ...reminders.map((/** @type {any} */ each) =>
        h("li", { class: "line" },
          h("div", { class: "line-main" },
            h("p", null, h("b", null, called(each))),
            h("p", { class: "small muted" }, h("a", { href: href(["device", each.device_id]) }, nameOf(devices.all.get(each.device_id) ?? { id: each.device_id })))),
          h("div", { class: "line-more" }, near(each.due_at))))),
      h("a", { class: "small", href: href(["memory"]) }, t("home.next.all")));
  }
}
