// What devices, and those who change something, are called: in words, not as the server writes them.

import { t } from "./i18n.js";

/** What a device is called; its id, if it has no name. @param {Map<string, any>} devices by id @param {string} id */
export function deviceName(devices, id) {
  return devices.get(id)?.name || id;
}

/** What a device is called among others: with its id only if another one has the same name. @param {any} device @param {Iterable<any>} others all devices, itself too */
export function deviceLabel(device, others) {
  if (!device.name) return device.id;
  const same = [...others].filter((each) => each.name === device.name).length;
  return same > 1 ? `${device.name} (${device.id})` : device.name;
}

/**
 * Where, by whom or with what something was changed. The console's own login has the name of its user.
 * @param {string} actor as `command:root`, `api:NAME` or `device:ID` @param {Map<string, any>} [devices] by id
 */
export function actorWords(actor, devices = new Map()) {
  const [kind, ...rest] = actor.split(":");
  const name = rest.join(":");
  if (kind === "command") return name ? t("actor.command.of", { name }) : t("actor.command");
  if (kind === "api") return name === "admin" ? t("actor.console") : t("actor.token", { name });
  if (kind === "device") return name ? t("actor.device", { name: deviceName(devices, name) }) : t("actor.itself");
  return t("actor.other", { name: actor });
}
