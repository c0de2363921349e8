// The browser as a xiaozhi device: states, buttons, reactions to messages, as the firmware's
// application.cc has them. It knows nothing of the page.

import { Refused } from "./admission.js";
import { ConnectFailed } from "./connection.js";
import { Hardware } from "./hardware.js";
import { identity } from "./identity.js";
import { Link } from "./link.js";
import { McpServer } from "./mcp.js";
import { Microphone, MicrophoneError } from "./microphone.js";
import { OtaFailed, VERSION } from "./ota.js";
import { Player } from "./player.js";
import { CAMERA, deviceTools } from "./tools.js";
import { Uplink } from "./uplink.js";

/** @typedef {"auto" | "manual" | "realtime"} Mode */
/** @typedef {"asleep" | "waiting" | "refused" | "connecting" | "idle" | "listening" | "thinking" | "speaking"} State */

const THINKING_MS = 20_000;
const RESTART_MS = 1_000;

/**
 * What happens comes as a CustomEvent whose `detail` is:
 * `state` (the one before), `code` (digits), `refused` (words), `heard` (words), `said` ({text, first}),
 * `emotion` ({name, emoji}), `alert` ({status, message}), `latency` (ms), `closed` ({code, reason}),
 * `failed` ("busy", "ota", "unreachable" or "connect"), `microphone` (MicrophoneProblem), `held`
 * (whether the browser makes no sound until a click), `message` ({message, outgoing}).
 */
export class Device extends EventTarget {
  who = identity();
  /** @type {State} */
  state = "asleep";
  /** @type {Mode} */
  mode = "auto";
  /** Whether the microphone goes on after each answer. */
  conversing = false;
  microphone = new Microphone();
  hardware = new Hardware();
  /** @type {Player | null} made at the first click */
  player = null;
  mcp;
  tools;
  #link;
  #uplink;
  #holding = false; // the button, in push to talk
  #listenAtEnd = false; // once all has been played
  #muted = false; // an answer that was aborted goes on coming until its end
  #askedAt = 0; // end of the user's words, while an answer to them is awaited
  #typed = ""; // words that the server may send back as `stt`
  #sentences = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #thinking;

  /** @param {{name: string, codec?: import("./connection.js").Codec}} options `name`: given with a claim. `codec`: instead of the best one */
  constructor({ name, codec }) {
    super();
    this.#link = new Link({
      who: this.who,
      name,
      codec,
      features: () => this.#features(),
      waiting: (code) => this.#waits(code),
      connecting: () => this.#to("connecting"),
      opened: (connection, agreed) => {
        this.#uplink.configure(agreed);
        this.player?.configure(agreed, connection.rate);
        this.#to("idle");
      },
      receiver: {
        json: (message) => this.#receive(message),
        audio: (packet) => this.state === "speaking" && !this.#muted && this.player?.push(packet),
        closed: (code, reason) => {
          this.#rest("asleep");
          this.#tell("closed", { code, reason });
        },
      },
      watch: (message, outgoing) => this.#tell("message", { message, outgoing }),
    });
    this.#uplink = new Uplink(this.microphone, (packet) => this.#link.connection?.sendAudio(packet));
    const photograph = (/** @type {string} */ question) => this.hardware.camera.explain(this.mcp.vision, question, this.who);
    const tools = deviceTools(this.hardware, photograph, () => void setTimeout(() => this.reboot(), RESTART_MS));
    this.tools = tools.filter((tool) => !tool.userOnly);
    this.mcp = new McpServer(tools, (tool) => this.offers(tool.name), VERSION, (payload) => this.#send({ type: "mcp", payload }));
    this.microphone.addEventListener("problem", (event) => {
      const problem = /** @type {CustomEvent} */ (event).detail;
      if (problem === "ended") this.stop();
      this.#tell("microphone", problem);
    });
    this.hardware.addEventListener("changed", () => {
      if (this.player) this.player.volume = this.hardware.volume;
    });
  }

  /** Whether a tool is offered now. @param {string} name */
  offers(name) {
    return name === CAMERA ? this.hardware.camera.on : !this.hardware.off.has(name);
  }

  get connected() {
    return this.#link.connection?.isOpen === true;
  }

  /** How audio is sent; empty: not known before the first connection. */
  get codec() {
    return this.#link.codec;
  }

  // Buttons

  /** Begins a conversation. To be called in a click's handler, as `hold` and `type`. */
  async start() {
    this.#sound();
    this.conversing = true;
    const ready = (await this.#openMicrophone()) && this.conversing && (await this.#connect());
    if (!ready || !this.conversing) return; // stopped meanwhile, or its claim took its time
    if (this.state === "speaking") this.abort();
    this.#listen();
  }

  /** Ends the conversation: the device falls asleep, as the firmware's button does while it listens. */
  stop() {
    this.#link.hangUp();
    this.#rest("asleep");
  }

  /** The button of push to talk goes down. */
  async hold() {
    if (this.#holding) return;
    this.#holding = true;
    this.#sound();
    const ready = (await this.#openMicrophone()) && (await this.#connect());
    if (!ready || !this.#holding) return; // released meanwhile
    if (this.state === "speaking") this.abort();
    this.#listen();
  }

  /** The button goes up: what was said is complete. */
  async release() {
    if (!this.#holding) return;
    this.#holding = false;
    if (!this.#uplink.on) return;
    const releasedAt = performance.now();
    await this.#uplink.finish();
    if (this.#holding) return;
    this.#askedAt = releasedAt;
    this.#send({ type: "listen", state: "stop" });
    if (this.state === "listening") this.#think();
  }

  /** Sends typed words. @param {string} text */
  async type(text) {
    this.#sound();
    if (!(await this.#connect())) return;
    if (this.state === "speaking") this.abort();
    this.#askedAt = performance.now();
    this.#typed = text;
    this.#tell("heard", text);
    this.#send({ type: "listen", state: "detect", text });
    this.#think();
  }

  /** Stops the answer at once. */
  abort() {
    this.#send({ type: "abort" });
    this.#muted = true;
    this.player?.reset();
  }

  /** Restarts, as the server may ask: the address is asked for anew, and the connection made again. */
  async reboot() {
    this.stop();
    this.#link.forget();
    await this.#connect();
  }

  /** Changes how turns begin and end; a conversation under way ends. @param {Mode} mode */
  setMode(mode) {
    if (mode === this.mode) return;
    if (this.conversing || this.microphone.isOpen) this.stop();
    this.mode = mode;
  }

  /** Ends everything: the page is left. */
  close() {
    this.stop();
    this.#uplink.close();
    this.player?.close();
    this.player = null;
    this.hardware.camera.switchOff();
  }

  // Opening

  #sound() {
    if (!this.player) {
      this.player = new Player();
      this.player.volume = this.hardware.volume;
      this.player.addEventListener("first", (event) => this.#sounds(/** @type {CustomEvent} */ (event).detail));
      this.player.addEventListener("drained", () => this.#listenAtEnd && this.state === "speaking" && this.#listen());
      this.player.addEventListener("held", () => this.#tell("held", this.player?.held ?? false));
      const { connection, codec } = this.#link;
      if (connection && codec) this.player.configure(codec, connection.rate);
    }
    void this.player.resume();
  }

  #openMicrophone() {
    return this.#tryMicrophone(() => this.microphone.open());
  }

  /** Changes it, also while it is open: the conversation ends if it is lost. @param {(microphone: Microphone) => Promise<void>} change */
  async changeMicrophone(change) {
    if (!(await this.#tryMicrophone(() => change(this.microphone)))) this.stop();
  }

  /** @param {() => Promise<void>} act @returns {Promise<boolean>} whether it succeeded; why not is told */
  async #tryMicrophone(act) {
    try {
      await act();
      return true;
    } catch (error) {
      this.conversing = false;
      this.#holding = false;
      this.#tell("microphone", error instanceof MicrophoneError ? error.problem : "failed");
      return false;
    }
  }

  /** Connects, and says why if it cannot. @returns {Promise<boolean>} whether it is connected */
  async #connect() {
    try {
      return (await this.#link.connect()) !== null;
    } catch (error) {
      this.#link.hangUp();
      this.#rest(error instanceof Refused ? "refused" : "asleep");
      if (error instanceof Refused) this.#tell("refused", error.message);
      else if (error instanceof OtaFailed) this.#tell("failed", error.status === 429 ? "busy" : error.status ? "ota" : "unreachable");
      else if (error instanceof ConnectFailed) this.#tell("failed", error.code === 1013 ? "busy" : "connect");
      else throw error;
      return false;
    }
  }

  /** @returns {Record<string, boolean>} */
  #features() {
    // The browser cancels the echo. One that cannot has the server leave out what it would hear of itself.
    const echoes = this.mode === "realtime" && this.microphone.isOpen && !this.microphone.cancelsEcho;
    return echoes ? { mcp: true, aec: true } : { mcp: true };
  }

  /** @param {string} code */
  #waits(code) {
    this.microphone.close(); // until somebody claims it
    this.conversing = false;
    this.#holding = false;
    this.#to("waiting");
    this.#tell("code", code);
  }

  // States

  /** @param {State} state */
  #to(state) {
    clearTimeout(this.#thinking);
    if (state === this.state) return;
    const before = this.state;
    this.state = state;
    this.#tell("state", before);
  }

  #listen() {
    this.#listenAtEnd = false;
    if (!this.connected || !this.microphone.isOpen) return this.#to("idle");
    // In full duplex the microphone stays on while the device speaks: it is announced once.
    if (!this.#uplink.on) {
      this.#send({ type: "listen", state: "start", mode: this.mode });
      this.player?.reset(); // EnableVoiceProcessing resets the decoder
      this.#uplink.start();
    }
    this.#to("listening");
  }

  /** Waits for an answer, not for ever: a turn may be dropped. */
  #think() {
    this.#to("thinking");
    this.#thinking = setTimeout(() => (this.conversing ? this.#listen() : this.#to("idle")), THINKING_MS);
  }

  /** All is still: nothing is heard, nothing sounds. @param {State} state */
  #rest(state) {
    this.conversing = false;
    this.#holding = false;
    this.#listenAtEnd = false;
    this.#muted = false;
    this.#askedAt = 0;
    this.#uplink.stop();
    this.microphone.close();
    this.player?.reset();
    this.#to(state);
  }

  // Messages

  /** @param {any} message */
  #receive(message) {
    const { type, state, text } = message;
    if (type === "stt" && typeof text === "string") this.#heard(text);
    else if (type === "llm" && typeof message.emotion === "string") this.#tell("emotion", { name: message.emotion, emoji: text ?? "" });
    else if (type === "tts" && state === "start") this.#speak();
    else if (type === "tts" && state === "sentence_start" && typeof text === "string") {
      this.#tell("said", { text, first: this.#sentences === 0 });
      this.#sentences += 1;
    } else if (type === "tts" && state === "stop") this.#spoken();
    else if (type === "alert" && [message.status, message.message, message.emotion].every((each) => typeof each === "string")) this.#tell("alert", message);
    else if (type === "system" && message.command === "reboot") void this.reboot();
    else if (type === "goodbye") this.#link.connection?.close();
    else if (type === "mcp") this.mcp.receive(message.payload);
  }

  /** @param {string} text */
  #heard(text) {
    const typed = this.#typed === text;
    this.#typed = "";
    if (!typed) {
      if (this.mode !== "manual") this.#askedAt = this.#uplink.voice.last;
      this.#tell("heard", text);
    }
    if (this.state === "listening") this.#think();
  }

  #speak() {
    this.#muted = false;
    if (this.state === "speaking") return; // the same state again: the decoder is not reset
    this.#sentences = 0;
    if (this.mode !== "realtime") this.#uplink.stop();
    this.player?.reset();
    this.#to("speaking");
  }

  #spoken() {
    if (this.state !== "speaking") return;
    this.#muted = false;
    if (!this.conversing) return this.#to("idle");
    if (this.mode === "realtime" || !this.player || this.player.idle) return this.#listen();
    this.#listenAtEnd = true; // the rest is played first
    void this.player.finish();
  }

  /** @param {number} at when the first sample of an answer sounds, as performance.now() */
  #sounds(at) {
    if (this.#askedAt) this.#tell("latency", Math.max(0, at - this.#askedAt));
    this.#askedAt = 0;
  }

  /** @param {Record<string, any>} message */
  #send(message) {
    this.#link.connection?.send(message);
  }

  /** @param {string} type @param {any} detail */
  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
