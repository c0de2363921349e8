// How something to be said is shown.

import { badge } from "../../components/controls.js";
import { timeOfDay } from "../../lib/format.js";
import { listed, t } from "../../lib/i18n.js";

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

const DAY = 1_440; // minutes

/** @type {Record<string, string>} */
const COLOURS = { delivered: "good", expired: "warn", failed: "bad", unknown: "warn", speaking: "accent", claimed: "accent" };

/** What became of it. @param {any} reminder */
export function deliveryBadge(reminder) {
  if (reminder.state === "pending" && reminder.shown_at) return badge(t("delivery.shown"), "warn");
  return badge(t(`delivery.${reminder.state}`), COLOURS[reminder.state] ?? "");
}

/** What a person calls it: its words, or its kind. @param {any} reminder */
export function called(reminder) {
  return reminder.text || t(`reminders.kind.${reminder.kind}`);
}

/**
 * When it repeats, in words and by the clock of this browser.
 * @param {{rule: string, due_at: number}} reminder its rule is a time and days, as `06:30 mon,tue`, by the assistant's clock
 */
export function ruleWords({ rule, due_at }) {
  const [clock, days = ""] = rule.split(" ");
  const [hours, minutes] = clock.split(":").map(Number);
  const there = 60 * hours + minutes;
  const due = new Date(due_at);
  const ahead = modulo(60 * due.getHours() + due.getMinutes() - there + DAY / 2, DAY) - DAY / 2; // of the assistant's clock
  const later = Math.floor((there + ahead) / DAY); // days, where midnight lies between the two clocks
  const chosen = days.split(",").map((each) => DAYS[modulo(DAYS.indexOf(each) + later, DAYS.length)]);
  const time = timeOfDay(due_at);
  if (chosen.length === DAYS.length) return t("reminders.daily", { time });
  if (chosen.join() === DAYS.slice(0, 5).join()) return t("reminders.weekdays", { time });
  return t("reminders.on-days", { days: listed(chosen.map((each) => t(`reminders.day.${each}`))), time });
}

/** @param {number} value @param {number} by */
const modulo = (value, by) => ((value % by) + by) % by;

/** Whether an event says that something to be said is another. @param {any} event */
export function aboutReminders(event) {
  return event.type === "reminder.ended" || event.type === "reminder.shown" || (event.type === "changed" && event.about === "reminder");
}
