// The camera: on while the user has switched it on; posts a photo with a question, as
// Esp32Camera::Explain does (esp32_camera.cc).

import { onOwnOrigin } from "./ota.js";

const TIMEOUT_MS = 60_000;
const SIZE = { width: { ideal: 640 }, height: { ideal: 480 } };
const QUALITY = 0.8;

/** @typedef {{url: string, token: string}} Vision where the server takes photos, as `initialize` states it */

export class Camera {
  /** @type {MediaStream | null} */
  stream = null;
  /** Shows what it sees. */
  view = document.createElement("video");

  constructor() {
    this.view.muted = true;
    this.view.playsInline = true;
  }

  get on() {
    return this.stream !== null;
  }

  /** Switches it on. Raises a DOMException as getUserMedia does, or TypeError in an insecure context. */
  async switchOn() {
    this.stream = await navigator.mediaDevices.getUserMedia({ video: SIZE });
    this.view.srcObject = this.stream;
    await this.view.play();
  }

  switchOff() {
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.stream = null;
    this.view.srcObject = null;
  }

  /** @returns {Promise<Blob>} a JPEG */
  async #photo() {
    const canvas = document.createElement("canvas");
    canvas.width = this.view.videoWidth;
    canvas.height = this.view.videoHeight;
    canvas.getContext("2d")?.drawImage(this.view, 0, 0);
    const blob = await new Promise((/** @type {BlobCallback} */ resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
    if (!blob) throw new Error("Failed to take photo");
    return blob;
  }

  /**
   * Takes a photo and returns what the vision service says of it. The errors' texts are the firmware's.
   * @param {Vision | null} vision @param {string} question @param {import("./identity.js").Identity} who
   */
  async explain(vision, question, who) {
    if (!this.on) throw new Error("The camera is switched off");
    if (!vision) throw new Error("Image explain URL or token is not set");
    const form = new FormData();
    form.append("question", question);
    form.append("file", await this.#photo(), "camera.jpg");
    const response = await fetch(onOwnOrigin(vision.url), {
      method: "POST",
      headers: {
        "Device-Id": who.id,
        "Client-Id": who.client,
        ...(vision.token ? { Authorization: `Bearer ${vision.token}` } : {}),
      },
      body: form,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      credentials: "omit",
    });
    if (response.status !== 200) throw new Error("Failed to upload photo");
    return response.text();
  }
}
