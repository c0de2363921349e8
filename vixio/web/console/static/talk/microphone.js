// The microphone: opened, measured, and its problems by name.

import { workerUrl } from "../lib/trusted.js";

/**
 * Why there is no microphone. `insecure`: browsers give one only to `https` and to localhost.
 * @typedef {"insecure" | "unsupported" | "denied" | "none" | "busy" | "failed" | "silent" | "ended"} MicrophoneProblem
 */

export class MicrophoneError extends Error {
  /** @param {MicrophoneProblem} problem */
  constructor(problem) {
    super(problem);
    this.problem = problem;
  }
}

const INPUT_KEY = "vixio.input";
const NOISE_KEY = "vixio.noise";

const SILENCE_MS = 3_000;
const SILENCE_LEVEL = 1e-5;
/** A live microphone is never quite silent: below −100 dB it is muted, or the wrong input. */

export class Microphone extends EventTarget {
  /** Events: `frame` ({frame: 960 samples, level: RMS}), `problem`, `inputs`. */
  /** @type {MediaStream | null} */
  #stream = null;
  /** @type {AudioContext | null} */
  #context = null;
  #silentSince = 0;
  #opening = 0;
  /** The chosen input's id; empty: the browser's choice. */
  input = localStorage.getItem(INPUT_KEY) ?? "";
  /** Whether the browser takes noise away. Off by default: recognisers know noise, and hear worse what is left. */
  suppressesNoise = localStorage.getItem(NOISE_KEY) === "on";
  /** Whether silence is a problem: while the assistant listens. */
  expected = false;
  /** Whether the browser cancels the echo of its loudspeaker. */
  cancelsEcho = false;

  get isOpen() {
    return this.#stream !== null;
  }

  /** Opens it, if it is not open. Raises MicrophoneError. */
  async open() {
    if (this.#stream) return;
    this.#opening += 1;
    const opening = this.#opening;
    const stream = await this.#ask();
    if (opening !== this.#opening) return stop(stream); // closed meanwhile
    this.#stream = stream;
    const [track] = stream.getAudioTracks();
    this.cancelsEcho = track.getSettings().echoCancellation === true;
    track.addEventListener("ended", () => this.#stream === stream && this.#fail("ended"));
    try {
      await this.#capture(stream);
    } catch (error) {
      console.warn(error);
      if (this.#stream === stream) this.close();
      throw new MicrophoneError("failed");
    }
    this.dispatchEvent(new Event("inputs"));
  }

  /** @returns {Promise<MediaStream>} */
  async #ask() {
    if (!globalThis.isSecureContext) throw new MicrophoneError("insecure");
    if (!navigator.mediaDevices?.getUserMedia) throw new MicrophoneError("unsupported");
    const wanted = { channelCount: 1, echoCancellation: true, noiseSuppression: this.suppressesNoise, autoGainControl: true };
    const audio = this.input ? { ...wanted, deviceId: { exact: this.input } } : wanted;
    try {
      return await navigator.mediaDevices.getUserMedia({ audio });
    } catch (error) {
      const { name } = /** @type {Error} */ (error);
      if (this.input && (name === "OverconstrainedError" || name === "NotFoundError")) {
        this.input = ""; // it was unplugged: the browser's choice
        return this.#ask();
      }
      throw new MicrophoneError(problemOf(name));
    }
  }

  /** @param {MediaStream} stream @returns {Promise<void>} */
  async #capture(stream) {
    const context = new AudioContext({ latencyHint: "interactive" });
    this.#context = context;
    await context.audioWorklet.addModule(workerUrl(new URL("./capture-worklet.js", import.meta.url)));
    if (this.#stream !== stream) return void context.close();
    const worklet = new AudioWorkletNode(context, "vixio-capture", { numberOfOutputs: 1, channelCount: 1, channelCountMode: "explicit" });
    worklet.port.onmessage = ({ data }) => this.#stream === stream && this.#receive(data);
    context.createMediaStreamSource(stream).connect(worklet);
    worklet.connect(context.destination); // it gives silence; without an end it would not run
    await context.resume();
    this.#silentSince = performance.now();
  }

  /** @param {{frame: Float32Array, level: number}} data */
  #receive(data) {
    const now = performance.now();
    if (data.level > SILENCE_LEVEL || !this.expected) this.#silentSince = now;
    else if (now - this.#silentSince > SILENCE_MS) {
      this.#silentSince = Infinity; // said once
      this.#tell("silent");
    }
    this.dispatchEvent(new CustomEvent("frame", { detail: data }));
  }

  /** Takes another input, at once if it is open. @param {string} id */
  async choose(id) {
    this.input = id;
    localStorage.setItem(INPUT_KEY, id);
    await this.#reopen();
  }

  /** Has the browser take noise away, or not. @param {boolean} on */
  async suppressNoise(on) {
    this.suppressesNoise = on;
    localStorage.setItem(NOISE_KEY, on ? "on" : "off");
    await this.#reopen();
  }

  async #reopen() {
    if (!this.#stream) return;
    this.close();
    await this.open();
  }

  /** The inputs there are; names are known once one was opened. @returns {Promise<{id: string, name: string}[]>} */
  async inputs() {
    const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
    return devices
      .filter(({ kind, deviceId }) => kind === "audioinput" && deviceId && deviceId !== "default")
      .map(({ deviceId, label }) => ({ id: deviceId, name: label }));
  }

  /** @param {MicrophoneProblem} problem */
  #fail(problem) {
    this.close();
    this.#tell(problem);
  }

  /** @param {MicrophoneProblem} problem */
  #tell(problem) {
    this.dispatchEvent(new CustomEvent("problem", { detail: problem }));
  }

  close() {
    this.#opening += 1;
    if (this.#stream) stop(this.#stream);
    this.#stream = null;
    if (this.#context?.state !== "closed") void this.#context?.close();
    this.#context = null;
  }
}

/** @param {MediaStream} stream */
function stop(stream) {
  for (const track of stream.getTracks()) track.stop();
}

/** @param {string} name of what getUserMedia raised @returns {MicrophoneProblem} */
function problemOf(name) {
  if (name === "NotAllowedError" || name === "SecurityError") return "denied";
  if (name === "NotFoundError" || name === "OverconstrainedError") return "none";
  if (name === "NotReadableError" || name === "AbortError") return "busy";
  return "failed";
}
