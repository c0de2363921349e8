// How something to be said is shown.

import { badge } from "../../components/controls.js";
import { timeOfDay } from "../../lib/format.js";
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

/**
 * When it repeats, in words and by the clock of this browser.
 * @param {{rule: string, due_at: number}} reminder its rule is a time and days, as `06:30 mon,tue`, by the assistant's clock
 * @param {string} [zone] of the assistant
 */
export function ruleWords({ rule, due_at }, zone) {
  const time = timeOfDay(due_at);
  const later = weekday(due_at) - weekday(due_at, zone); // days, where midnight lies between the two clocks
  const days = rule.split(" ")[1].split(",").map((each) => DAYS[(DAYS.indexOf(each) + later + 7) % 7]);
  if (days.length === DAYS.length) return t("reminders.daily", { time });
  if (DAYS.slice(0, 5).every((each) => days.includes(each)) && days.length === 5) return t("reminders.weekdays", { time });
  return t("reminders.on-days", { days: days.map((each) => t(`reminders.day.${each}`)).join(", "), time });
}

/** The number of a day in its week. @param {number} at @param {string} [zone] */
function weekday(at, zone) {
  return DAYS.indexOf(new Intl.DateTimeFormat("en", { weekday: "short", timeZone: zone || undefined }).format(at).toLowerCase());
}

/** Whether an event says that something to be said is another. @param {any} event */
export function aboutReminders(event) {
  return event.type === "reminder.ended" || (event.type === "changed" && event.about === "reminder");
}
