// All devices with what each does now: read once, then kept up to date by the stream of events.

import { get } from "./api.js";
import { feedState, watch } from "./feed.js";

/**
 * A device as `GET /devices` shows it, and `state`: what a person wants to know of it first.
 * @typedef {import("../types/api.js").components["schemas"]["Device"] & {state_now: string, partial: string}} KnownDevice
 */

/** @typedef {import("./feed.js").FeedEvent} FeedEvent */

const PAGE = 1_000;

const GATHERED_MS = 250;
/** Changes that come within this time are read together. */

const FEW = 3;
/** So many devices are read one by one; more are read as a whole list: requests are limited. */

const LIST_MS = 2_000;
/** From one whole list to the next, where changes are the reason; and from a failure to the next attempt. */

/** What a device does, in one word; `reachable`: it is connected, and no conversation is open. @param {any} device */
export function stateNow(device) {
  if (device.state === "blocked") return "blocked";
  if (device.state === "unclaimed" && device.code) return "waiting";
  if (device.live) return device.live.awake === false && device.live.state === "idle" ? "reachable" : device.live.state;
  return device.online ? "idle" : "asleep";
}

/** All devices, as a map that changes. Events: `changed` with the id of a device, `all`, `failed`. */
export class Devices extends EventTarget {
  /** @type {Map<string, any>} */
  all = new Map();
  /** @type {Error | null} */
  error = null;
  loaded = false;
  #signal;
  #reading = false;
  #again = false;
  /** Devices that were read one by one while all were being read: what is under way may be older. */
  #newer = /** @type {Set<string>} */ (new Set());
  /** Events that came meanwhile. @type {FeedEvent[]} */
  #meanwhile = [];
  #stale = /** @type {Set<string>} */ (new Set());
  #readAt = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {AbortSignal} signal */
  constructor(signal) {
    super();
    this.#signal = signal;
    watch(signal, (event) => this.#receive(event), () => void this.read());
    signal.addEventListener("abort", () => clearTimeout(this.#timer), { once: true });
    void this.read();
  }

  /** Waits until they have been read for the first time, with or without success. @returns {Promise<unknown>} */
  ready() {
    return this.loaded ? Promise.resolve() : new Promise((done) => this.addEventListener("all", done, { once: true }));
  }

  /** Has a device read anew, soon. @param {string} id */
  #changed(id) {
    this.#stale.add(id);
    this.#timer ??= setTimeout(() => void this.#refresh(), GATHERED_MS);
  }

  /** Has all devices read anew, soon. */
  #all() {
    for (const id of this.all.keys()) this.#changed(id);
  }

  async #refresh() {
    this.#timer = undefined;
    if (this.#signal.aborted) return;
    if (this.#stale.size <= FEW) {
      const ids = [...this.#stale];
      this.#stale.clear();
      await Promise.all(ids.map((id) => this.readOne(id)));
      return;
    }
    const wait = this.#readAt + LIST_MS - performance.now();
    if (wait > 0) {
      this.#timer = setTimeout(() => void this.#refresh(), wait);
      return;
    }
    this.#stale.clear();
    await this.read();
  }

  /** Reads all of them. While that is under way, another wish for it is kept for its end. */
  async read() {
    if (this.#reading) {
      this.#again = true;
      return;
    }
    this.#reading = true;
    this.#newer.clear();
    this.#readAt = performance.now();
    try {
      const found = await devicesById(this.#signal);
      this.#bringUpToDate(found);
      this.all = found;
      this.error = null;
    } catch (error) {
      if (this.#signal.aborted) return;
      this.error = /** @type {Error} */ (error);
      for (const id of this.all.keys()) this.#failed(id);
    } finally {
      this.#reading = false;
      this.#newer.clear();
      this.#meanwhile = [];
    }
    this.loaded = true;
    this.dispatchEvent(new CustomEvent("all"));
    if (this.#again) {
      this.#again = false;
      void this.read();
    }
  }

  /** @param {Map<string, any>} found all devices, as they were when they began to be read */
  #bringUpToDate(found) {
    for (const event of this.#meanwhile) {
      const device = found.get(event.device_id ?? "");
      if (device) applyEvent(device, event);
    }
    for (const id of this.#newer) {
      const device = this.all.get(id);
      if (device) found.set(id, device);
      else found.delete(id);
    }
  }

  /** Reads one device anew. @param {string} id */
  async readOne(id) {
    try {
      const device = await get(`/devices/${encodeURIComponent(id)}`, {}, this.#signal);
      this.all.set(id, device); // not in one expression: `all` may be another map since
      this.#newer.add(id);
    } catch (error) {
      if (/** @type {any} */ (error).status !== 404) return this.#failed(id);
      this.all.delete(id);
      this.#newer.add(id);
      this.dispatchEvent(new CustomEvent("all"));
      return;
    }
    this.#tell(id);
  }

  /** Has a device read once more: what changed would stay unseen. @param {string} id */
  #failed(id) {
    if (this.#signal.aborted || feedState() !== "open") return; // all are read when the stream is back
    this.#stale.add(id);
    this.#timer ??= setTimeout(() => void this.#refresh(), LIST_MS);
  }

  /** @param {string} id */
  #tell(id) {
    this.dispatchEvent(new CustomEvent("changed", { detail: id }));
  }

  /** @param {FeedEvent} event */
  #receive(event) {
    const id = event.device_id;
    if (event.type === "changed" && (event.about === "profile" || event.about === "person")) return void this.#all();
    if (!id) return;
    const device = this.all.get(id);
    if (!device || event.type === "changed" || event.type === "device.waiting") {
      if (event.type !== "changed" || event.about === "device") this.#changed(id);
      return;
    }
    if (this.#reading) this.#meanwhile.push(event);
    if (applyEvent(device, event)) this.#tell(id);
  }
}

/**
 * Takes an event into account. Returns whether something that is shown is another.
 * @param {any} device @param {FeedEvent} event
 */
export function applyEvent(device, event) {
  if (event.type === "session.opened") {
    device.online = true;
    device.last_seen = event.at;
    const { awake, transport, session_id } = event;
    device.live = { state: "idle", since: event.at, awake, transport, session_id, heard: "", said: "", listing: true };
    return true;
  }
  if (event.type === "session.closed") {
    if (device.live && device.live.session_id !== event.session_id) return false; // an older one
    const { heard = "", said = "" } = device.live ?? {};
    if (heard || said) device.last = { ...device.last, at: event.at, heard, said };
    device.online = false;
    device.live = null;
    device.last_seen = event.at;
    return true;
  }
  device.live ??= { state: "idle", since: event.at, session_id: event.session_id, heard: "", said: "" };
  device.online = true;
  const live = device.live;
  switch (event.type) {
    case "device.tools":
      device.tools = event.tools;
      live.listing = false;
      return true;
    case "conversation.opened":
    case "conversation.ended":
      live.awake = event.type === "conversation.opened";
      live.since = event.at;
      return true;
    case "state":
      live.state = event.after;
      live.since = event.at;
      return true;
    case "transcript.partial":
    case "transcript":
    case "turn.started":
      if (!event.text) return false;
      live.heard = event.text;
      if (event.type === "transcript") live.said = "";
      return true;
    case "speech.sentence":
      live.said = event.text ?? live.said;
      return true;
    case "speech.played":
    case "speech.interrupted":
      if (event.text !== undefined) live.said = event.text;
      return true;
    case "turn.ended":
      device.last = { at: event.at, heard: live.heard, said: live.said, outcome: event.outcome };
      return true;
  }
  return false;
}

/** Reads all devices, once. @param {AbortSignal} signal @returns {Promise<Map<string, any>>} by id */
export async function devicesById(signal) {
  const found = new Map();
  for (let offset = 0, total = 1; offset < total; offset += PAGE) {
    const part = await get("/devices", { limit: PAGE, offset }, signal);
    total = part.total;
    for (const device of part.devices) found.set(device.id, device);
    if (!part.devices.length) break;
  }
  return found;
}
