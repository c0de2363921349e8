// How something to be said is shown.

import { badge } from "../../components/controls.js";
import { t } from "../../lib/i18n.js";

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/** @type {Record<string, string>} */
const COLOURS = { delivered: "good", expired: "warn", failed: "bad", unknown: "warn", speaking: "accent", claimed: "accent" };

/** What became of it. @param {any} reminder */
export function deliveryBadge(reminder) {
  return badge(t(`delivery.${reminder.state}`), COLOURS[reminder.state] ?? "");
}

/** What a person calls it: its words, or its kind. @param {any} reminder */
export function called(reminder) {
  return reminder.text || t(`reminders.kind.${reminder.kind}`);
}

/** When it repeats, in words. @param {string} rule a time and days, as `06:30 mon,tue` */
export function ruleWords(rule) {
  const [time, days = ""] = rule.split(" ");
  const chosen = days.split(",");
  if (chosen.length === DAYS.length) return t("reminders.daily", { time });
  if (days === DAYS.slice(0, 5).join(",")) return t("reminders.weekdays", { time });
  return t("reminders.on-days", { days: chosen.map((each) => t(`reminders.day.${each}`)).join(", "), time });
}

/** Who has set it: a device, a command or a token, as the server names it. @param {string} by @param {Map<string, any>} devices */
export function setBy(by, devices) {
  const id = by.replace(/^device:/, "");
  return id === by ? by : devices.get(id)?.name || id;
}

/** Whether an event says that something to be said is another. @param {any} event */
export function aboutReminders(event) {
  return event.type === "reminder.ended" || (event.type === "changed" && event.about === "reminder");
}
