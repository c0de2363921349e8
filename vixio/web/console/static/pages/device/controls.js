// What can be asked of a connected device.

import { button, card, field, notice, select } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { toast } from "../../components/toast.js";
import { fetchApi, get, post } from "../../lib/api.js";
import { stateNow } from "../../lib/devices.js";
import { fill, h } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { t } from "../../lib/i18n.js";
import { picture } from "./picture.js";

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
  const hint = h("div");
  const words = { asleep: "device.unreachable", reachable: "device.reachable", awake: "" };
  onContact(context, (now) => fill(hint, words[now] ? notice("info", h("p", { class: "small" }, t(words[now]))) : null));
  return [hint, speech(context), device(context), screen(context)];
}

/** `reachable`: connected and idle; `awake`: in a conversation. @typedef {"asleep" | "reachable" | "awake"} Contact */

/** @param {DeviceContext} context @returns {Contact} */
function contactNow({ device }) {
  if (!device.online) return "asleep";
  return stateNow(device) === "reachable" ? "reachable" : "awake";
}

/** Calls `draw` now and whenever it can be reached in another way. @param {DeviceContext} context @param {(now: Contact) => void} draw */
function onContact(context, draw) {
  let before = contactNow(context);
  draw(before);
  context.addEventListener("changed", () => {
    const now = contactNow(context);
    if (now !== before) draw(now);
    before = now;
  });
}

/** What cannot be used while the device is asleep. @param {DeviceContext} context @param {...import("../../lib/dom.js").Child} children */
function needsDevice(context, ...children) {
  const group = h("fieldset", { class: "plain stack" }, ...children);
  onContact(context, (now) => {
    group.disabled = now === "asleep";
    group.title = group.disabled ? t("device.asleep") : "";
  });
  return group;
}

/** A button that means a conversation. @param {DeviceContext} context @param {HTMLButtonElement} control */
function needsConversation(context, control) {
  onContact(context, (now) => {
    control.disabled = now !== "awake";
    control.title = now === "reachable" ? t("device.no-conversation") : "";
  });
  return control;
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
  /** What became of what an idle device was to say. @param {{status: string, until?: string}} outcome */
  const told = ({ status, until = "" }) => {
    if (status === "accepted" || status === "played") text.value = "";
    if (status === "accepted") toast(t("device.sent"));
    fill(said, status === "accepted" ? "" : t(`device.outcome.${status}`, { until }));
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
        const body = { ...words(), wait: contactNow(context) === "reachable" };
        fill(said, body.wait ? t("device.saying") : "");
        try {
          told(await post(`${context.path}/say`, body, { timeout: SPEECH_MS }));
        } catch (error) {
          fill(said);
          throw error;
        }
      }, { kind: "primary", icon: "volume" }),
      button(t("device.ask"), async () => {
        fill(said, t("device.asking"));
        try {
          const answer = await post(`${context.path}/ask`, words(), { timeout: SPEECH_MS });
          if (answer.heard) fill(said, t("device.answered", answer));
          else told(answer);
        } catch (error) {
          fill(said);
          throw error;
        }
      }, { icon: "send" }),
      needsConversation(context, button(t("device.interrupt"), () => post(`${context.path}/interrupt`), { icon: "stop" }))),
  );
  onContact(context, (now) => { later.hidden = now !== "asleep"; });
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
      needsConversation(context, button(t("device.disconnect"), () => post(`${context.path}/disconnect`), { small: true })),
      button(t("device.reboot"), () => confirmed({
        title: t("device.reboot.title", { name: context.name }),
        text: t("device.reboot.text"),
        act: t("device.reboot"),
        run: async () => {
          await post(`${context.path}/reboot`, {}, { timeout: TOOL_MS });
          toast(t("device.rebooting"));
        },
      }), { small: true, icon: "power", kind: "danger" }),
      button(t("device.upgrade"), () => confirmed({
        title: t("device.upgrade.title", { name: context.name }),
        text: t("device.upgrade.text"),
        act: t("device.upgrade"),
        run: async () => {
          const { version } = await post(`${context.path}/upgrade`, {}, { timeout: TOOL_MS });
          toast(t("device.upgrading", { version }));
        },
      }), { small: true })),
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
  const snapshot = h("div", { class: "snapshot" });
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
        fill(snapshot, h("img", { src: shown, alt: t("device.snapshot.of", { name: context.name }) }));
      }, { small: true, icon: "screen" })),
    snapshot,
    ...picture(context),
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
