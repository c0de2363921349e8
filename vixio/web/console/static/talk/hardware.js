// What the device's tools act upon: the loudspeaker, the screen, the lamp, the camera.

import { Camera } from "./camera.js";

const KEY = "vixio.hardware";

/** @typedef {{on: boolean, red: number, green: number, blue: number}} Lamp 0 to 255 each */

/** Event `changed`. What is set is kept in the browser's storage; the lamp and the camera are off at the start. */
export class Hardware extends EventTarget {
  volume = 70;
  brightness = 75;
  theme = "light";
  /** @type {Lamp} */
  lamp = { on: false, red: 255, green: 214, blue: 120 };
  camera = new Camera();
  /** @type {Set<string>} names of tools that the user has switched off */
  off = new Set();

  constructor() {
    super();
    try {
      const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}");
      if (kept.volume >= 0 && kept.volume <= 100) this.volume = kept.volume;
      if (Array.isArray(kept.off)) this.off = new Set(kept.off);
    } catch {
      // as it was made
    }
    this.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  /** @param {number} volume 0 to 100 */
  setVolume(volume) {
    this.volume = volume;
    return this.#changed();
  }

  /** @param {number} brightness 0 to 100 */
  setBrightness(brightness) {
    this.brightness = brightness;
    return this.#changed();
  }

  /** Returns false for an unknown theme, as the firmware. @param {string} theme */
  setTheme(theme) {
    if (theme !== "light" && theme !== "dark") return false;
    this.theme = theme;
    return this.#changed();
  }

  /** @param {Partial<Lamp>} to */
  setLamp(to) {
    this.lamp = { ...this.lamp, ...to };
    return this.#changed();
  }

  /** Allows or forbids a tool. @param {string} name @param {boolean} on */
  allow(name, on) {
    if (on) this.off.delete(name);
    else this.off.add(name);
    this.#changed();
  }

  #changed() {
    localStorage.setItem(KEY, JSON.stringify({ volume: this.volume, off: [...this.off] }));
    this.dispatchEvent(new Event("changed"));
    return true;
  }

  /** As WifiBoard::GetDeviceStatusJson, of what a browser knows. */
  async status() {
    const battery = await /** @type {any} */ (navigator).getBattery?.().catch(() => null);
    return {
      audio_speaker: { volume: this.volume },
      screen: { brightness: this.brightness, theme: this.theme },
      ...(battery ? { battery: { level: Math.round(battery.level * 100), charging: battery.charging } } : {}),
      network: { type: "browser", signal: navigator.onLine ? "strong" : "none" },
    };
  }
}
