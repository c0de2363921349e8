// Times, durations and numbers, in the user's language and time zone.

import { locale, t } from "./i18n.js";

/** A date with its time. @param {number} ms since 1970 */
export function dateTime(ms) {
  return new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" }).format(ms);
}

/** A day of a week that is near. @param {number} ms since 1970 */
export function dayName(ms) {
  return new Intl.DateTimeFormat(locale(), { weekday: "short", month: "short", day: "numeric" }).format(ms);
}

/** A time of the day, without seconds. @param {number} ms since 1970 */
export function timeOfDay(ms) {
  return new Intl.DateTimeFormat(locale(), { timeStyle: "short" }).format(ms);
}

const WEEK_MS = 6 * 86_400_000;

/** A time that is near, as short as it is clear: of today the time alone, of this week with its day. @param {number} ms since 1970 */
export function near(ms, now = Date.now()) {
  if (new Date(ms).toDateString() === new Date(now).toDateString()) return timeOfDay(ms);
  if (Math.abs(ms - now) > WEEK_MS) return dateTime(ms);
  return new Intl.DateTimeFormat(locale(), { weekday: "long", hour: "numeric", minute: "2-digit" }).format(ms);
}

/** A time of the day, with seconds. @param {number} ms since 1970 */
export function clock(ms) {
  return new Intl.DateTimeFormat(locale(), { timeStyle: "medium" }).format(ms);
}

const UNITS = /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
  ["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000],
]);

/** How long ago, or how long until then. @param {number} ms since 1970 @param {number} [now] */
export function ago(ms, now = Date.now()) {
  if (!ms) return t("time.never");
  const difference = ms - now;
  const relative = new Intl.RelativeTimeFormat(locale(), { numeric: "auto" });
  for (const [unit, length] of UNITS) {
    if (Math.abs(difference) >= length) return relative.format(Math.trunc(difference / length), unit);
  }
  return t(difference > 0 ? "time.soon" : "time.now");
}

/** A short duration. @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return t("time.ms", { ms: Math.round(ms) });
  if (ms < 120_000) return t("time.s", { s: (ms / 1000).toFixed(ms < 10_000 ? 2 : 1) });
  const minutes = Math.floor(ms / 60_000);
  return minutes < 120
    ? t("time.min", { min: minutes })
    : t("time.h", { h: Math.floor(minutes / 60), min: minutes % 60 });
}

/** @param {number} value @param {Intl.NumberFormatOptions} [options] */
export function number(value, options) {
  return new Intl.NumberFormat(locale(), options).format(value);
}

/** @param {number} count */
export function bytes(count) {
  if (count < 1024 * 1024) return `${number(Math.round(count / 1024))} KB`;
  return `${number(count / 1024 / 1024, { maximumFractionDigits: 1 })} MB`;
}
