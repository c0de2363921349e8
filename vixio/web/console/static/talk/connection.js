// One WebSocket of the device: the hello, JSON messages, binary frames (websocket_protocol.cc).

const HELLO_TIMEOUT_MS = 10_000;

const MAX_UNSENT_BYTES = 64_000;
/** Two seconds of PCM: with more unsent the network is too slow, and audio is left out. */

export const REPLACED = 4001;

/** @typedef {"opus" | "pcm"} Codec */

/**
 * @typedef {object} Receiver
 * @property {(message: any) => void} json
 * @property {(packet: ArrayBuffer) => void} audio
 * @property {(code: number, reason: string) => void} closed once, after a connection that was open
 */

/** The connection could not be made. `code`: of the WebSocket's end; 0: no hello came. */
export class ConnectFailed extends Error {
  /** @param {number} code @param {string} reason */
  constructor(code, reason) {
    super(reason);
    this.code = code;
  }
}

export class Connection {
  /** The session's id, as the server's hello states it. */
  session = "";
  /** The rate of the audio that the server sends, in Hz. */
  rate = 24_000;
  /** How long a packet of the server lasts, in ms. */
  frameMs = 60;
  #socket;
  /** @type {(message: any, outgoing: boolean) => void} */
  #watch;

  /** @param {WebSocket} socket @param {(message: any, outgoing: boolean) => void} watch */
  constructor(socket, watch) {
    this.#socket = socket;
    this.#watch = watch;
  }

  /**
   * Connects, says hello and waits for the server's. Raises ConnectFailed.
   *
   * @param {object} options
   * @param {import("./ota.js").Server} options.server
   * @param {import("./identity.js").Identity} options.who
   * @param {Codec} options.codec
   * @param {Record<string, boolean>} options.features
   * @param {AbortSignal} options.signal ends it, also later
   * @param {Receiver} options.receiver
   * @param {(message: any, outgoing: boolean) => void} options.watch sees every message; a number of bytes for audio
   * @returns {Promise<Connection>}
   */
  static open({ server, who, codec, features, signal, receiver, watch }) {
    const url = new URL(server.url);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    // Browsers cannot set headers: the server reads these from the query.
    url.searchParams.set("device-id", who.id);
    url.searchParams.set("client-id", who.client);
    url.searchParams.set("protocol-version", "1");
    if (server.token) url.searchParams.set("authorization", `Bearer ${server.token}`);
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    const connection = new Connection(socket, watch);
    return new Promise((resolve, reject) => {
      let open = false;
      const late = setTimeout(() => fail(0, "no hello"), HELLO_TIMEOUT_MS);
      const end = () => socket.close(1000);
      signal.addEventListener("abort", end, { once: true });
      const fail = (/** @type {number} */ code, /** @type {string} */ reason) => {
        clearTimeout(late);
        reject(new ConnectFailed(code, reason));
        socket.close();
      };
      socket.onopen = () =>
        connection.send({
          type: "hello",
          version: 1,
          features,
          transport: "websocket",
          audio_params: { format: codec, sample_rate: 16_000, channels: 1, frame_duration: 60 },
        });
      socket.onmessage = ({ data }) => {
        if (typeof data !== "string") {
          watch(data.byteLength, false);
          if (open) receiver.audio(data);
          return;
        }
        const message = parse(data);
        if (!message) return;
        watch(message, false);
        if (message.type !== "hello") return receiver.json(message);
        if (message.transport !== "websocket") return fail(0, "hello of another transport");
        connection.#agree(message);
        clearTimeout(late);
        open = true;
        resolve(connection);
      };
      socket.onclose = ({ code, reason }) => {
        signal.removeEventListener("abort", end);
        if (open) receiver.closed(code, reason);
        else fail(code, reason);
      };
    });
  }

  /** @param {any} hello */
  #agree({ session_id, audio_params }) {
    this.session = typeof session_id === "string" ? session_id : "";
    if (audio_params?.sample_rate > 0) this.rate = audio_params.sample_rate;
    if (audio_params?.frame_duration > 0) this.frameMs = audio_params.frame_duration;
  }

  get isOpen() {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** @param {Record<string, any>} message */
  send(message) {
    if (!this.isOpen) return;
    const whole = message.type === "hello" ? message : { session_id: this.session, ...message };
    this.#socket.send(JSON.stringify(whole));
    this.#watch(whole, true);
  }

  /** Sends a packet of audio; returns whether it was not left out. @param {ArrayBuffer} packet */
  sendAudio(packet) {
    if (!this.isOpen || this.#socket.bufferedAmount > MAX_UNSENT_BYTES) return false;
    this.#socket.send(packet);
    this.#watch(packet.byteLength, true);
    return true;
  }

  close() {
    this.#socket.close(1000);
  }
}

/** @param {string} text */
function parse(text) {
  try {
    const message = JSON.parse(text);
    return typeof message?.type === "string" ? message : null;
  } catch {
    return null;
  }
}
