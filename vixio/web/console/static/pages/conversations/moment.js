// A turn in the past of its device.

import { h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { href } from "../../lib/router.js";

/**
 * Names a device, and leads to a turn in its past; what is no device of the registry is only named.
 * @param {import("../../lib/devices.js").Devices} devices
 * @param {{device_id: string, device_name: string, session_id: string, turn: number}} turn
 */
export function momentLink(devices, turn) {
  const name = turn.device_name || turn.device_id;
  if (!devices.all.has(turn.device_id)) return h("b", null, name);
  const to = href(["device", turn.device_id, "past"], { session: turn.session_id, turn: String(turn.turn) });
  return h("a", { href: to, title: t("conversations.moment") }, name);
}
