// From the microphone to the socket, while the device listens.

import { newEncoder } from "./codec.js";
import { VoiceMark } from "./voice.js";

const LAST_FRAME_MS = 200;
/** For the frame that is being filled when the button is released. */

export class Uplink {
  voice = new VoiceMark();
  /** @type {import("./codec.js").Encoder | null} */
  #encoder = null;
  #microphone;
  #send;
  #on = false;
  /** @type {(() => void) | null} */
  #lastFrame = null;

  /**
   * @param {import("./microphone.js").Microphone} microphone
   * @param {(packet: ArrayBuffer) => void} send
   */
  constructor(microphone, send) {
    this.#microphone = microphone;
    this.#send = send;
    microphone.addEventListener("frame", (event) => this.#frame(/** @type {CustomEvent} */ (event).detail));
  }

  get on() {
    return this.#on;
  }

  /** @param {import("./connection.js").Codec} codec */
  configure(codec) {
    this.#encoder?.close();
    const failed = (/** @type {Error} */ error) => {
      console.warn(error);
      if (this.#encoder === encoder) this.configure(codec);
    };
    const encoder = newEncoder(codec, (packet) => this.#encoder === encoder && this.#send(packet), failed);
    this.#encoder = encoder;
  }

  start() {
    if (!this.#on) this.voice.reset();
    this.#on = true;
    this.#microphone.expected = true;
  }

  stop() {
    this.#on = false;
    this.#microphone.expected = false;
  }

  /** Stops behind the frame that is being filled, when all that was said has been sent. */
  async finish() {
    if (!this.#on) return;
    if (this.#microphone.isOpen) {
      await new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
        this.#lastFrame = resolve;
        setTimeout(resolve, LAST_FRAME_MS);
      });
    }
    this.stop();
    await this.#encoder?.flush();
  }

  /** @param {{frame: Float32Array<ArrayBuffer>, level: number}} data */
  #frame({ frame, level }) {
    if (!this.#on) return;
    this.voice.frame(level, performance.now());
    this.#encoder?.encode(frame);
    this.#lastFrame?.();
    this.#lastFrame = null;
  }

  close() {
    this.stop();
    this.#encoder?.close();
    this.#encoder = null;
  }
}
