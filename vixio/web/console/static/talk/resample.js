// A stream of samples from one rate to a lower one: a windowed sinc, whose cut-off lies below half
// the lower rate. Used by the microphone's worklet; it uses nothing of a page.

const ZEROS = 16;
/** Zero crossings of the sinc on each side: an attenuation of some 60 dB. */

const ROLL_OFF = 0.95;
/** The cut-off, as a share of half the lower rate. */

const PHASES = 256;
/** Positions between two samples for which the filter is stored. */

export class Resampler {
  #ratio;
  #half;
  #table;
  /** @type {Float32Array} what the next output may still need */
  #kept;
  #at; // where the next output lies in #kept

  /** @param {number} from Hz @param {number} to Hz, not above `from` */
  constructor(from, to) {
    this.#ratio = from / to;
    const cutOff = Math.min(1, (to / from) * ROLL_OFF);
    this.#half = Math.ceil(ZEROS / cutOff);
    this.#table = Array.from({ length: PHASES }, (_, phase) => kernel(this.#half, cutOff, phase / PHASES));
    this.#kept = new Float32Array(this.#half);
    this.#at = this.#half;
  }

  /** Takes samples and returns those that they completed. @param {Float32Array} samples */
  feed(samples) {
    const all = new Float32Array(this.#kept.length + samples.length);
    all.set(this.#kept);
    all.set(samples, this.#kept.length);
    const half = this.#half;
    const out = new Float32Array(Math.max(0, Math.ceil((all.length - half - 1 - this.#at) / this.#ratio)));
    let count = 0;
    for (; count < out.length; count += 1, this.#at += this.#ratio) {
      const base = Math.floor(this.#at);
      const taps = this.#table[Math.floor((this.#at - base) * PHASES)];
      let sum = 0;
      for (let tap = 0; tap < taps.length; tap += 1) sum += taps[tap] * all[base - half + 1 + tap];
      out[count] = sum;
    }
    const unused = Math.max(0, Math.floor(this.#at) - half);
    this.#kept = all.slice(unused);
    this.#at -= unused;
    return out;
  }
}

/** The filter for a position `shift` (0 to 1) behind a sample. @param {number} half @param {number} cutOff @param {number} shift */
function kernel(half, cutOff, shift) {
  const taps = new Float32Array(2 * half);
  let sum = 0;
  for (let tap = 0; tap < taps.length; tap += 1) {
    const x = tap - half + 1 - shift;
    const angle = Math.PI * x * cutOff;
    const sinc = Math.abs(x) < 1e-9 ? 1 : Math.sin(angle) / angle;
    const window = 0.42 + 0.5 * Math.cos((Math.PI * x) / half) + 0.08 * Math.cos((2 * Math.PI * x) / half);
    taps[tap] = Math.abs(x) > half ? 0 : sinc * window;
    sum += taps[tap];
  }
  return taps.map((each) => each / sum);
}
