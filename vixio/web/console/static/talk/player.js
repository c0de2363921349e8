// From the decode queue to the loudspeaker. Frames are scheduled one behind the other on the audio
// clock, so a late page leaves no gaps; what is scheduled can be dropped at once.

import { newDecoder } from "./codec.js";

/** @typedef {import("./connection.js").Codec} Codec */

export const QUEUE_PACKETS = 40;
/** As the firmware's decode queue (MAX_DECODE_PACKETS_IN_QUEUE): the newest is dropped. */

const AHEAD_S = 0.24;
/** Scheduled ahead: a page that is busy for so long is not heard. */

const START_S = 0.03;
/** From the arrival of the first frame to its sound. */

export class Player extends EventTarget {
  /** Events: `first` when a reply begins to sound, `drained` when all was played, `held` when the browser waits for a click. */
  #context;
  #gain;
  /** @type {import("./codec.js").Decoder | null} */
  #decoder = null;
  /** @type {ArrayBuffer[]} */
  #queue = [];
  /** @type {Set<AudioBufferSourceNode>} */
  #scheduled = new Set();
  #decoding = 0;
  #freeAt = 0;
  #began = false; // whether this reply has begun to sound
  #playedBefore = 0; // seconds of this reply in frames that have ended
  dropped = 0;

  /** To be made in a click's handler: browsers let a page make sound only then. */
  constructor() {
    super();
    this.#context = new AudioContext({ latencyHint: "interactive", sampleRate: 48_000 });
    this.#gain = this.#context.createGain();
    this.#gain.connect(this.#context.destination);
    this.#context.addEventListener("statechange", () => this.dispatchEvent(new Event("held")));
  }

  /** Whether the browser makes no sound until the user clicks. */
  get held() {
    return this.#context.state !== "running";
  }

  /** Lets the sound begin; in a click's handler. */
  async resume() {
    if (this.#context.state === "suspended") await this.#context.resume();
  }

  /** @param {number} volume 0 to 100 */
  set volume(volume) {
    // The ear hears ratios: a square is near enough, and 0 is silence.
    this.#gain.gain.setTargetAtTime((volume / 100) ** 2, this.#context.currentTime, 0.02);
  }

  /** Uses the format of the server's hello. @param {Codec} codec @param {number} rate Hz */
  configure(codec, rate) {
    this.reset();
    this.#decoder?.close();
    const failed = (/** @type {Error} */ error) => {
      console.warn(error);
      if (this.#decoder === decoder) this.configure(codec, rate);
    };
    const decoder = newDecoder(codec, rate, (samples, at) => this.#decoder === decoder && this.#schedule(samples, at), failed);
    this.#decoder = decoder;
  }

  /** Whether nothing is queued and nothing sounds. */
  get idle() {
    return !this.#queue.length && !this.#decoding && !this.#scheduled.size;
  }

  /** How much of this reply has been played, in seconds. */
  get played() {
    const left = Math.max(0, this.#freeAt - this.#context.currentTime);
    return Math.max(0, this.#playedBefore - left);
  }

  /** Takes a packet; false: the queue is full and it is lost. @param {ArrayBuffer} packet */
  push(packet) {
    if (this.#queue.length >= QUEUE_PACKETS) {
      this.dropped += 1;
      return false;
    }
    this.#queue.push(packet);
    this.#pump();
    return true;
  }

  /** Drops everything at once, as ResetDecoder; the next frame begins a reply. */
  reset() {
    this.#queue.length = 0;
    this.#decoding = 0;
    this.#decoder?.reset();
    for (const node of this.#scheduled) {
      node.onended = null;
      node.stop();
    }
    const sounded = this.#scheduled.size > 0;
    this.#scheduled.clear();
    this.#freeAt = 0;
    this.#playedBefore = 0;
    this.#began = false;
    if (sounded) this.dispatchEvent(new Event("drained"));
  }

  /** Once nothing more will come: reports the end also if the decoder gave nothing for a packet. */
  async finish() {
    if (this.#queue.length || this.#scheduled.size) return;
    if (this.#decoding) {
      await this.#decoder?.flush().catch(() => {});
      if (this.#queue.length || this.#scheduled.size) return;
      this.#decoding = 0;
    }
    this.dispatchEvent(new Event("drained"));
  }

  #pump() {
    while (this.#queue.length && this.#freeAt - this.#context.currentTime + this.#decoding * 0.06 < AHEAD_S) {
      this.#decoding += 1;
      this.#decoder?.decode(/** @type {ArrayBuffer} */ (this.#queue.shift()));
    }
  }

  /** @param {Float32Array<ArrayBuffer>} samples @param {number} rate Hz */
  #schedule(samples, rate) {
    this.#decoding = Math.max(0, this.#decoding - 1);
    const buffer = this.#context.createBuffer(1, samples.length, rate);
    buffer.copyToChannel(samples, 0);
    const node = new AudioBufferSourceNode(this.#context, { buffer });
    node.connect(this.#gain);
    const start = Math.max(this.#freeAt, this.#context.currentTime + (this.#began ? 0 : START_S));
    this.#freeAt = start + buffer.duration;
    this.#playedBefore += buffer.duration;
    this.#scheduled.add(node);
    node.onended = () => {
      this.#scheduled.delete(node);
      this.#pump();
      void this.finish();
    };
    node.start(start);
    if (!this.#began) {
      this.#began = true;
      const delay = (start - this.#context.currentTime + (this.#context.baseLatency || 0)) * 1000;
      this.dispatchEvent(new CustomEvent("first", { detail: performance.now() + delay }));
    }
    this.#pump();
  }

  close() {
    this.reset();
    this.#decoder?.close();
    this.#decoder = null;
    void this.#context.close();
  }
}
