// What can be asked of a connected device.

import { button, card, field, notice, select } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { toast } from "../../components/toast.js";
import { fetchApi, get, post } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { t } from "../../lib/i18n.js";

const SPEECH_MS = 310_000;
const TOOL_MS = 65_000;

const FACES = [
  "neutral", "happy", "laughing", "funny", "sad", "angry", "crying", "loving", "embarrassed", "surprised", "shocked",
  "thinking", "winking", "cool", "relaxed", "delicious", "kissy", "confident", "sleepy", "silly", "confused",
];

const VOLUME = "self.audio_speaker.set_volume";
const STATUS = "self.get_device_status";

/** @typedef {import("../device.js").DeviceContext} DeviceContext */

/** @param {DeviceContext} context */
export function controls(context) {
  const asleep = h("div");
  whileAwake(context, (awake) => fill(asleep, awake ? null : notice("info", h("p", { class: "small" }, t("device.unreachable")))));
  return [asleep, speech(context), device(context), screen(context)];
}

/** Calls `draw` now and whenever the device wakes or falls asleep. @param {DeviceContext} context @param {(awake: boolean) => void} draw */
function whileAwake(context, draw) {
  let before = Boolean(context.device.online);
  draw(before);
  context.addEventListener("changed", () => {
    const now = Boolean(context.device.online);
    if (now !== before) draw(now);
    before = now;
  });
}

/** What cannot be used while the device is asleep. @param {DeviceContext} context @param {...import("../../lib/dom.js").Child} children */
function needsDevice(context, ...children) {
  const group = h("fieldset", { class: "plain stack" }, ...children);
  whileAwake(context, (awake) => {
    group.disabled = !awake;
    group.title = awake ? "" : t("device.asleep");
  });
  return group;
}

/** @param {DeviceContext} context */
function speech(context) {
  const text = h("textarea", { maxLength: 10_000, rows: 2 });
  const priority = select([["normal", t("device.priority.normal")], ["low", t("device.priority.low")], ["high", t("device.priority.high")]], "normal");
  const said = h("p", { class: "small", role: "status" });
  const words = () => {
    const now = text.value.trim();
    if (!now) {
      text.focus();
      throw new Error(t("device.no-words"));
    }
    return { text: now, priority: priority.value };
  };
  const later = button(t("device.later"), async () => {
    await post("/announcements", { text: words().text, devices: [context.device.id] });
    text.value = "";
    toast(t("device.later.sent"));
  }, { kind: "primary", icon: "bell" });
  const now = needsDevice(
    context,
    field(t("device.when"), priority),
    h("div", { class: "row" },
      button(t("device.say"), async () => {
        await post(`${context.path}/say`, words());
        text.value = "";
        toast(t("device.sent"));
      }, { kind: "primary", icon: "volume" }),
      button(t("device.ask"), async () => {
        fill(said, t("device.asking"));
        try {
          const { heard } = await post(`${context.path}/ask`, words(), { timeout: SPEECH_MS });
          fill(said, heard ? t("device.answered", { heard }) : "");
        } catch (error) {
          fill(said);
          throw error;
        }
      }, { icon: "send" }),
      button(t("device.interrupt"), () => post(`${context.path}/interrupt`), { icon: "stop" })),
  );
  whileAwake(context, (awake) => { later.hidden = awake; });
  return card(t("device.speech"), field(t("device.words"), text), later, now, said);
}

/** @param {DeviceContext} context */
function device(context) {
  const volume = h("input", { type: "range", min: "0", max: "100", value: "50" });
  const shown = h("output", { class: "mono" }, "–");
  volume.addEventListener("input", () => fill(shown, volume.value));
  volume.addEventListener("change", () => void set());
  let known = false;

  async function set() {
    const now = Number(volume.value);
    try {
      await call(context, VOLUME, { volume: now });
    } catch (error) {
      toast(/** @type {Error} */ (error).message, "bad");
    }
  }

  async function readVolume() {
    const { device } = context;
    if (!device.online) known = false;
    // `listing`: it has just connected, and has not said yet which tools it has.
    if (known || !device.online || device.live?.listing || !device.tools.includes(STATUS)) return;
    known = true;
    try {
      const status = JSON.parse((await call(context, STATUS, {})).text);
      if (typeof status.audio_speaker?.volume === "number") {
        volume.value = String(status.audio_speaker.volume);
        fill(shown, volume.value);
      }
    } catch {
      known = false; // the slider stays where it is; the next change asks again
    }
  }

  void readVolume();
  context.addEventListener("changed", () => void readVolume());
  watch(
    context.signal,
    (event) => {
      if (event.device_id !== context.device.id || event.type !== "tool.ended" || !event.tool.includes("volume")) return;
      known = false; // it was changed by voice
      void readVolume();
    },
    () => undefined,
  );
  return card(t("device.device"), needsDevice(
    context,
    h("div", { class: "volume" }, field(t("device.volume"), volume), shown),
    h("div", { class: "row" },
      button(t("device.disconnect"), () => post(`${context.path}/disconnect`), { small: true }),
      button(t("device.reboot"), () => confirmed({
        title: t("device.reboot.title", { name: context.name }),
        text: t("device.reboot.text"),
        act: t("device.reboot"),
        run: async () => {
          await post(`${context.path}/reboot`, {}, { timeout: TOOL_MS });
          toast(t("device.rebooting"));
        },
      }), { small: true, icon: "power", kind: "danger" })),
  ));
}

/**
 * Calls a tool of the device; raises Error for one that failed.
 * @param {DeviceContext} context @param {string} tool @param {any} values @returns {Promise<any>}
 */
async function call(context, tool, values) {
  const answer = await post(`${context.path}/tools/${encodeURIComponent(tool)}`, { arguments: values }, { timeout: TOOL_MS });
  if (!answer.success) throw new Error(answer.text);
  return answer;
}

/** @param {DeviceContext} context */
function screen(context) {
  const face = select(FACES.map((each) => /** @type {[string, string]} */ ([each, t(`face.${each}`)])), "happy");
  const title = h("input", { type: "text", maxLength: 100 });
  const text = h("input", { type: "text", maxLength: 1_000 });
  const picture = h("div", { class: "snapshot" });
  let shown = "";
  context.signal.addEventListener("abort", () => URL.revokeObjectURL(shown), { once: true });
  return card(t("device.screen"), needsDevice(
    context,
    h("div", { class: "row" },
      h("div", { class: "grow" }, field(t("device.face"), face)),
      button(t("device.face.show"), () => post(`${context.path}/face`, { emotion: face.value }))),
    field(t("device.notice.title"), title),
    field(t("device.notice.text"), text),
    h("div", { class: "row" },
      button(t("device.notice.show"), async () => {
        if (!title.value.trim() || !text.value.trim()) throw new Error(t("device.notice.missing"));
        await post(`${context.path}/alert`, { title: title.value, text: text.value, emotion: face.value });
      }, { small: true, icon: "bell" }),
      button(t("device.snapshot"), async () => {
        const answer = await fetchApi("GET", `${context.path}/screen`, { timeout: TOOL_MS, signal: context.signal });
        URL.revokeObjectURL(shown);
        shown = URL.createObjectURL(await answer.blob());
        fill(picture, h("img", { src: shown, alt: t("device.snapshot.of", { name: context.name }) }));
      }, { small: true, icon: "screen" })),
    picture,
  ));
}

/** The tools of a device, of both kinds. @param {DeviceContext} context @returns {Promise<any[]>} */
export async function listTools(context) {
  const [own, user] = await Promise.all(
    ["tools", "user-tools"].map((kind) => get(`${context.path}/${kind}`, {}, context.signal)),
  );
  return [
    ...own.tools.map((/** @type {any} */ each) => ({ ...each, user: false })),
    ...user.tools.map((/** @type {any} */ each) => ({ ...each, user: true })),
  ];
}
