// Opus through WebCodecs, or PCM where there is none: the same two interfaces.

/** @typedef {import("./connection.js").Codec} Codec */

/**
 * @typedef {object} Encoder
 * @property {(frame: Float32Array<ArrayBuffer>) => void} encode takes 60 ms at 16 kHz
 * @property {() => Promise<void>} flush resolves when all packets have been passed on
 * @property {() => void} close
 */

/**
 * @typedef {object} Decoder
 * @property {(packet: ArrayBuffer) => void} decode
 * @property {() => void} reset drops what is under way
 * @property {() => Promise<void>} flush resolves when all packets have been decoded
 * @property {() => void} close
 */

/** @typedef {(samples: Float32Array<ArrayBuffer>, rate: number) => void} TakeSamples */

const RATE = 16_000;
const FRAME_US = 60_000;

/** As the firmware's encoder: voice, one packet of 60 ms. */
const ENCODER = /** @type {any} */ ({
  codec: "opus",
  sampleRate: RATE,
  numberOfChannels: 1,
  bitrate: 24_000,
  opus: { frameDuration: FRAME_US, application: "voip" },
});

/** What a decoder of Opus is told; 48 kHz come out. @param {number} rate */
const decoderFor = (rate) => ({ codec: "opus", sampleRate: rate, numberOfChannels: 1 });

/** Returns the codec that this browser can use. @returns {Promise<Codec>} */
export async function usableCodec() {
  if (typeof AudioEncoder !== "function" || typeof AudioDecoder !== "function") return "pcm";
  try {
    const [up, down] = await Promise.all([
      AudioEncoder.isConfigSupported(ENCODER),
      AudioDecoder.isConfigSupported(decoderFor(24_000)),
    ]);
    return up.supported && down.supported ? "opus" : "pcm";
  } catch {
    return "pcm";
  }
}

/**
 * @param {Codec} codec @param {(packet: ArrayBuffer) => void} send @param {(error: Error) => void} failed
 * @returns {Encoder}
 */
export function newEncoder(codec, send, failed) {
  return codec === "pcm" ? new PcmEncoder(send) : new OpusEncoder(send, failed);
}

/**
 * @param {Codec} codec @param {number} rate of the server's audio, in Hz @param {TakeSamples} take
 * @param {(error: Error) => void} failed
 * @returns {Decoder}
 */
export function newDecoder(codec, rate, take, failed) {
  return codec === "pcm" ? new PcmDecoder(rate, take) : new OpusDecoder(rate, take, failed);
}

class OpusEncoder {
  #encoder;
  #time = 0;

  /** @param {(packet: ArrayBuffer) => void} send @param {(error: Error) => void} failed */
  constructor(send, failed) {
    this.#encoder = new AudioEncoder({
      output: (chunk) => {
        const packet = new ArrayBuffer(chunk.byteLength);
        chunk.copyTo(packet);
        send(packet);
      },
      error: failed,
    });
    this.#encoder.configure(ENCODER);
  }

  /** @param {Float32Array<ArrayBuffer>} frame */
  encode(frame) {
    if (this.#encoder.state !== "configured") return;
    const data = new AudioData({
      format: "f32-planar",
      sampleRate: RATE,
      numberOfFrames: frame.length,
      numberOfChannels: 1,
      timestamp: this.#time,
      data: frame,
    });
    this.#time += FRAME_US;
    this.#encoder.encode(data);
    data.close();
  }

  async flush() {
    if (this.#encoder.state === "configured") await this.#encoder.flush();
  }

  close() {
    if (this.#encoder.state !== "closed") this.#encoder.close();
  }
}

class OpusDecoder {
  #decoder;
  #rate;
  #time = 0;

  /** @param {number} rate @param {TakeSamples} take @param {(error: Error) => void} failed */
  constructor(rate, take, failed) {
    this.#rate = [16_000, 24_000, 48_000].includes(rate) ? rate : 48_000;
    this.#decoder = new AudioDecoder({
      output: (data) => {
        const samples = new Float32Array(data.numberOfFrames);
        data.copyTo(samples, { planeIndex: 0, format: "f32-planar" });
        take(samples, data.sampleRate);
        data.close();
      },
      error: failed,
    });
    this.#decoder.configure(decoderFor(this.#rate));
  }

  /** @param {ArrayBuffer} packet */
  decode(packet) {
    if (this.#decoder.state !== "configured" || !packet.byteLength) return;
    this.#decoder.decode(new EncodedAudioChunk({ type: "key", timestamp: this.#time, data: packet }));
    this.#time += FRAME_US;
  }

  reset() {
    if (this.#decoder.state === "closed") return;
    this.#decoder.reset();
    this.#decoder.configure(decoderFor(this.#rate));
  }

  async flush() {
    if (this.#decoder.state === "configured") await this.#decoder.flush();
  }

  close() {
    if (this.#decoder.state !== "closed") this.#decoder.close();
  }
}

class PcmEncoder {
  #send;

  /** @param {(packet: ArrayBuffer) => void} send */
  constructor(send) {
    this.#send = send;
  }

  /** @param {Float32Array} frame */
  encode(frame) {
    const packet = new DataView(new ArrayBuffer(frame.length * 2));
    frame.forEach((sample, at) => packet.setInt16(at * 2, Math.max(-1, Math.min(1, sample)) * 32_767, true));
    this.#send(packet.buffer);
  }

  async flush() {}

  close() {}
}

class PcmDecoder {
  #rate;
  #take;

  /** @param {number} rate @param {TakeSamples} take */
  constructor(rate, take) {
    this.#rate = rate;
    this.#take = take;
  }

  /** @param {ArrayBuffer} packet */
  decode(packet) {
    const view = new DataView(packet);
    const samples = new Float32Array(packet.byteLength >> 1);
    for (let at = 0; at < samples.length; at += 1) samples[at] = view.getInt16(at * 2, true) / 32_768;
    if (samples.length) this.#take(samples, this.#rate);
  }

  reset() {}

  async flush() {}

  close() {}
}
