// Runs in the audio thread: the microphone's samples at 16 kHz, in frames of 60 ms with their level.

import { Resampler } from "./resample.js";

const RATE = 16_000;
const FRAME = (RATE * 60) / 1000;

/** The globals of an audio worklet, which the checker's library of the DOM lacks. */
const scope = /** @type {any} */ (globalThis);

class Capture extends scope.AudioWorkletProcessor {
  #resampler = scope.sampleRate === RATE ? null : new Resampler(scope.sampleRate, RATE);
  #frame = new Float32Array(FRAME);
  #filled = 0;

  /** @param {Float32Array[][]} inputs */
  process([input]) {
    const channel = input?.[0];
    if (channel) this.#take(this.#resampler ? this.#resampler.feed(channel) : channel);
    return true;
  }

  /** @param {Float32Array} samples */
  #take(samples) {
    for (const sample of samples) {
      this.#frame[this.#filled] = sample;
      this.#filled += 1;
      if (this.#filled === FRAME) this.#send();
    }
  }

  #send() {
    let sum = 0;
    for (const sample of this.#frame) sum += sample * sample;
    const frame = this.#frame;
    this.port.postMessage({ frame, level: Math.sqrt(sum / FRAME) }, [frame.buffer]);
    this.#frame = new Float32Array(FRAME);
    this.#filled = 0;
  }
}

scope.registerProcessor("vixio-capture", Capture);
