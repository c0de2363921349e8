// The way to the server: asked for by OTA, kept while it holds, made anew when it does not.

import { admit } from "./admission.js";
import { usableCodec } from "./codec.js";
import { Connection, ConnectFailed } from "./connection.js";

/** @typedef {import("./connection.js").Codec} Codec */

const DEAD_MS = 120_000; // as Protocol::IsTimeout: the server sends something at least once a minute

/**
 * @typedef {object} LinkOptions
 * @property {import("./identity.js").Identity} who
 * @property {string} name given with a claim
 * @property {Codec} [codec] instead of the best one
 * @property {() => Record<string, boolean>} features of the hello
 * @property {(code: string) => void} waiting for the claim
 * @property {() => void} connecting
 * @property {(connection: Connection, codec: Codec) => void} opened
 * @property {import("./connection.js").Receiver} receiver
 * @property {(message: any, outgoing: boolean) => void} watch
 */

export class Link {
  /** @type {Codec | ""} */
  codec = "";
  /** @type {Connection | null} */
  connection = null;
  #options;
  #end = new AbortController();
  /** @type {import("./ota.js").Server | null} */
  #server = null;
  /** @type {Promise<Connection> | null} */
  #connecting = null;
  #lastIncoming = 0;

  /** @param {LinkOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** Returns the connection, made if need be; null if it was hung up meanwhile. @returns {Promise<Connection | null>} */
  async connect() {
    const { signal } = this.#end;
    if (!this.#connecting) {
      const alive = performance.now() - this.#lastIncoming < DEAD_MS;
      if (this.connection?.isOpen && alive) return this.connection;
      this.connection?.close();
      this.#connecting = this.#open(signal);
    }
    const connecting = this.#connecting;
    try {
      const connection = await connecting;
      return signal.aborted ? null : connection;
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    } finally {
      if (this.#connecting === connecting) this.#connecting = null;
    }
  }

  /** Ends the connection, and an attempt to make one. */
  hangUp() {
    const connection = this.connection;
    this.connection = null;
    this.#connecting = null;
    this.#end.abort();
    this.#end = new AbortController();
    connection?.close();
  }

  /** Has the next connection ask for the address. */
  forget() {
    this.#server = null;
  }

  /** @param {AbortSignal} signal */
  async #open(signal) {
    this.#options.connecting();
    this.codec ||= this.#options.codec ?? (await usableCodec());
    const known = this.#server;
    try {
      return await this.#dial(signal);
    } catch (error) {
      if (!known || signal.aborted || !(error instanceof ConnectFailed)) throw error;
    }
    this.forget(); // the address or the token may be another by now
    return this.#dial(signal);
  }

  /** @param {AbortSignal} signal */
  async #dial(signal) {
    const { who, name, features, receiver } = this.#options;
    this.#server ??= await admit(who, name, signal, this.#options.waiting);
    this.#options.connecting();
    const codec = /** @type {Codec} */ (this.codec);
    /** @type {Connection} */
    const connection = await Connection.open({
      server: this.#server,
      who,
      codec,
      features: features(),
      signal,
      receiver: {
        json: (message) => !signal.aborted && receiver.json(message),
        audio: receiver.audio,
        closed: (code, reason) => {
          if (this.connection !== connection) return;
          this.connection = null;
          receiver.closed(code, reason);
        },
      },
      watch: (message, outgoing) => {
        if (!outgoing) this.#lastIncoming = performance.now();
        this.#options.watch(message, outgoing);
      },
    });
    if (signal.aborted) throw signal.reason;
    this.connection = connection;
    this.#options.opened(connection, codec);
    return connection;
  }
}
