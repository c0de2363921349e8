// The form by which something to be said is set.

import { field, notice, select, setFieldError } from "../../components/controls.js";
import { openDialog } from "../../components/dialog.js";
import { toast } from "../../components/toast.js";
import { post } from "../../lib/api.js";
import { h, setText } from "../../lib/dom.js";
import { ago } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { deviceLabel } from "../../lib/names.js";
import { DAYS } from "./delivery.js";
import { refuse } from "./parts.js";

const MAX_S = 366 * 86_400;

/** @param {string} prefix @param {string[]} names @returns {[string, string][]} */
const options = (prefix, names) => names.map((name) => [name, t(`${prefix}.${name}`)]);

/**
 * Asks what to say, where and when.
 * @param {import("../../lib/devices.js").Devices} devices @param {string} zone of the assistant
 * @param {() => Promise<void>} added
 */
export async function addReminder(devices, zone, added) {
  await devices.ready();
  const known = [...devices.all.values()].filter((each) => each.state !== "blocked")
    .sort((a, b) => (a.name || "~").localeCompare(b.name || "~") || a.id.localeCompare(b.id));
  const device = select(known.map((each) => [each.id, deviceLabel(each, known)]), undefined, { required: true });
  const kind = select(options("reminders.kind", ["reminder", "timer", "alarm", "message"]), "reminder", { onchange: () => show() });
  const text = h("input", { type: "text", maxLength: 500, autocomplete: "off" });
  const when = select(options("reminders.when", ["in", "at", "days", "now"]), "in", { onchange: () => show() });
  const minutes = h("input", { type: "number", min: "0", max: "527040", step: "any", value: "10", inputmode: "decimal" });
  const moment = h("input", { type: "datetime-local" });
  const clock = h("input", { type: "time", value: "07:00" });
  const boxes = DAYS.map((day) => h("input", { type: "checkbox", value: day, checked: DAYS.indexOf(day) < 5 }));
  const priority = select(options("reminders.priority", ["low", "normal", "high"]), "normal");
  const days = h("fieldset", { class: "choices" },
    h("legend", null, t("reminders.days")),
    ...boxes.map((box) => h("label", { class: "check" }, box, t(`reminders.day.${box.value}`))));
  const textField = field(t("reminders.text"), text, { hint: t("reminders.text.hint") });
  const inField = field(t("reminders.minutes"), minutes);
  const atField = field(t("reminders.moment"), moment, { hint: t("reminders.moment.hint") });
  const clockField = field(t("reminders.clock"), clock, { hint: t("reminders.clock.hint", { zone: zone || t("reminders.clock.machine") }) });
  const whenField = field(t("reminders.when"), when);
  const soon = new Date(Date.now() + 3_600_000);
  soon.setMinutes(0, 0, 0);
  moment.value = local(soon);

  function show() {
    const timer = kind.value === "timer";
    if (timer) when.value = "in";
    whenField.hidden = timer;
    inField.hidden = when.value !== "in";
    atField.hidden = when.value !== "at";
    clockField.hidden = days.hidden = when.value !== "days";
    const label = textField.querySelector("label");
    if (label) setText(label, t(timer ? "reminders.text.timer" : "reminders.text"));
  }
  show();

  /** What is asked for, beside the device and the words. */
  function timing() {
    for (const control of [minutes, moment, clock, text]) setFieldError(control, "");
    if (kind.value === "message" && !text.value.trim()) refuse(text, t("reminders.need.text"));
    if (when.value === "in") {
      const seconds = Math.round(Number(minutes.value) * 60);
      if (!(seconds > 0 && seconds <= MAX_S)) refuse(minutes, t("reminders.need.minutes"));
      return { in_seconds: seconds };
    }
    if (when.value === "at") {
      const seconds = Math.round((new Date(moment.value).getTime() - Date.now()) / 1000);
      if (!(seconds > 0 && seconds <= MAX_S)) refuse(moment, t("reminders.need.moment"));
      return { in_seconds: seconds };
    }
    if (when.value === "days") {
      const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
      if (!chosen.length || !clock.value) refuse(clock, t("reminders.need.days"));
      return { at: clock.value.slice(0, 5), days: chosen };
    }
    return {};
  }

  await openDialog(
    {
      title: t("reminders.add"),
      act: t("save"),
      run: async () => {
        const body = { device: device.value, kind: kind.value, text: text.value.trim(), priority: priority.value, ...timing() };
        const found = await post("/reminders", body);
        toast(t(found.online ? "reminders.added" : "reminders.added.offline", { when: ago(found.due_at) }));
        await added();
      },
    },
    known.length ? null : notice("warn", h("p", null, t("reminders.no-devices"))),
    h("div", { class: "pair" }, field(t("reminders.kind"), kind), field(t("reminders.device"), device)),
    textField,
    h("div", { class: "pair" }, whenField, inField, atField, clockField),
    days,
    field(t("reminders.priority"), priority),
  );
}

/** A time as the browser's control takes it. @param {Date} date */
function local(date) {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
