// What was said with all devices: the figures of a week, and a search.

import { fill, h } from "../lib/dom.js";
import { Devices } from "../lib/devices.js";
import { t } from "../lib/i18n.js";
import "../words/conversations.js";
import { search } from "./conversations/search.js";
import { week } from "./conversations/week.js";

/** @param {import("../app.js").PageContext} context */
export function page({ root, query, signal, title }) {
  title(t("conversations.title"));
  const devices = new Devices(signal);
  fill(root, h("h1", null, t("conversations.title")), week(devices, signal), search(query, devices, signal));
}
