// How turns are taken, microphone and volume; the lamp, the camera and the tools.

import { card, field, select } from "../../components/controls.js";
import { icon } from "../../components/icon.js";
import { toast } from "../../components/toast.js";
import { fill, h, setText, uniqueId } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { CAMERA } from "../../talk/tools.js";

/** @typedef {import("../../talk/device.js").Device} Device */

const MODES = /** @type {const} */ (["auto", "manual", "realtime"]);
const MODE_KEY = "vixio.mode";

/** @param {Device} device @param {AbortSignal} signal */
export function settingsCard(device, signal) {
  return card(t("talk.settings"), modes(device), input(device, signal), noise(device), volume(device));
}

/** @param {Device} device */
function noise(device) {
  const box = h("input", { type: "checkbox", checked: device.microphone.suppressesNoise });
  box.addEventListener("change", () => void device.changeMicrophone((microphone) => microphone.suppressNoise(box.checked)));
  return h("div", null, h("label", { class: "check" }, box, t("talk.noise")), h("p", { class: "hint" }, t("talk.noise.hint")));
}

/** @param {Device} device */
function modes(device) {
  const name = uniqueId("mode");
  const hint = h("p", { class: "hint" });
  const kept = MODES.find((mode) => mode === localStorage.getItem(MODE_KEY));
  if (kept) device.setMode(kept);
  device.dispatchEvent(new Event("mode"));
  const choose = (/** @type {typeof MODES[number]} */ mode) => {
    device.setMode(mode);
    localStorage.setItem(MODE_KEY, mode);
    setText(hint, t(`talk.mode.${mode}.hint`));
    device.dispatchEvent(new Event("mode"));
  };
  setText(hint, t(`talk.mode.${device.mode}.hint`));
  return h(
    "fieldset",
    { class: "talk-modes" },
    h("legend", null, t("talk.mode")),
    h(
      "div",
      { class: "row" },
      ...MODES.map((mode) =>
        h(
          "label",
          { class: "check" },
          h("input", { type: "radio", name, value: mode, checked: device.mode === mode, onchange: () => choose(mode) }),
          t(`talk.mode.${mode}`),
        ),
      ),
    ),
    hint,
  );
}

/** @param {Device} device @param {AbortSignal} signal */
function input(device, signal) {
  const { microphone } = device;
  const list = select([["", t("talk.input.default")]]);
  const read = async () => {
    const inputs = await microphone.inputs().catch(() => []);
    const options = [
      h("option", { value: "" }, t("talk.input.default")),
      ...inputs.map(({ id, name }, at) => h("option", { value: id }, name || t("talk.input.nameless", { number: at + 1 }))),
    ];
    fill(list, ...options);
    list.value = inputs.some(({ id }) => id === microphone.input) ? microphone.input : "";
  };
  list.addEventListener("change", () => void device.changeMicrophone(() => microphone.choose(list.value)));
  microphone.addEventListener("inputs", () => void read());
  navigator.mediaDevices?.addEventListener?.("devicechange", () => void read(), { signal });
  void read();
  return field(t("talk.input"), list);
}

/** @param {Device} device */
function volume(device) {
  const { hardware } = device;
  const shown = h("output", { class: "small muted" });
  const slider = h("input", {
    type: "range",
    name: "volume",
    min: "0",
    max: "100",
    value: String(hardware.volume),
    oninput: () => hardware.setVolume(Number(slider.value)),
  });
  const draw = () => {
    slider.value = String(hardware.volume);
    setText(shown, `${hardware.volume} %`);
  };
  hardware.addEventListener("changed", draw);
  draw();
  return h("div", { class: "talk-volume" }, field(t("talk.volume"), slider), shown);
}

/** @param {Device} device */
export function hardwareCard(device) {
  return card(t("talk.hardware"), h("p", { class: "hint" }, t("talk.hardware.text")), lamp(device), h("ul", { class: "talk-tools" }, ...device.tools.map((tool) => toolSwitch(device, tool.name))), camera(device));
}

/** @param {Device} device */
function lamp({ hardware }) {
  const words = h("span");
  const element = h("button", { type: "button", class: "button talk-lamp", onclick: () => hardware.setLamp({ on: !hardware.lamp.on }) }, icon("lamp"), words);
  const draw = () => {
    const { on, red, green, blue } = hardware.lamp;
    element.setAttribute("aria-pressed", String(on));
    element.style.setProperty("--lamp", on ? `rgb(${red} ${green} ${blue})` : "transparent");
    setText(words, t(on ? "talk.lamp.on" : "talk.lamp.off"));
  };
  hardware.addEventListener("changed", draw);
  draw();
  return element;
}

/** @param {Device} device @param {string} name */
function toolSwitch(device, name) {
  const box = h("input", { type: "checkbox", checked: device.offers(name), "data-tool": name });
  box.addEventListener("change", async () => {
    if (name === CAMERA) await switchCamera(device, box);
    device.hardware.allow(name, box.checked);
    device.mcp.announce();
  });
  return h("li", null, h("label", { class: "check" }, box, h("span", null, t(`talk.tool.${name}`), " ", h("code", { class: "muted" }, name))));
}

/** @param {Device} device @param {HTMLInputElement} box */
async function switchCamera({ hardware }, box) {
  if (!box.checked) return hardware.camera.switchOff();
  try {
    await hardware.camera.switchOn();
  } catch (error) {
    console.info(error);
    hardware.camera.switchOff();
    box.checked = false;
    toast(t(isSecureContext ? "talk.camera.refused" : "talk.camera.insecure"), "bad");
  }
}

/** @param {Device} device */
function camera({ hardware }) {
  const { view } = hardware.camera;
  view.setAttribute("aria-label", t("talk.camera"));
  const place = h("div", { class: "talk-camera", hidden: true }, view);
  hardware.addEventListener("changed", () => {
    place.hidden = !hardware.camera.on;
  });
  return place;
}
