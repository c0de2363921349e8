// When the user's voice was last heard, for the time from the end of the words to the answer.

const FLOOR = 0.004;
/** RMS below which nothing counts as voice: −48 dB. */

const ABOVE_NOISE = 3;
/** Voice is at least so many times louder than the noise. */

export class VoiceMark {
  #noise = FLOOR;
  #last = 0;

  /** @param {number} level RMS of the last frame @param {number} now ms */
  frame(level, now) {
    // Falls with the quietest frames at once, rises by a tenth a second.
    this.#noise = Math.min(Math.max(level, FLOOR / ABOVE_NOISE), this.#noise * 1.006);
    if (level > Math.max(FLOOR, this.#noise * ABOVE_NOISE)) this.#last = now;
  }

  /** When the voice was last heard, in ms; 0: it was not. */
  get last() {
    return this.#last;
  }

  reset() {
    this.#last = 0;
  }
}
