// The conversation as it happens, and below it the raw events.

import { empty, loading, showError } from "../../components/controls.js";
import { turnElement } from "../../components/turn.js";
import { get, part } from "../../lib/api.js";
import { clock } from "../../lib/format.js";
import { fill, h } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { t } from "../../lib/i18n.js";
import { TurnLog } from "../../lib/turns.js";

const SHOWN = 60;
const RAW = 200;

const WRITTEN_MS = 2_000; // by then a turn that has just ended is on record

const NEAR_END = 80; // pixels from the end at which new turns are followed

/**
 * @param {HTMLElement} panel
 * @param {import("../device.js").DeviceContext} context
 * @param {AbortSignal} signal
 */
export async function conversation(panel, context, signal) {
  const log = new TurnLog();
  /** @type {Map<string, import("../../components/turn.js").TurnElement>} */
  const elements = new Map();
  const list = h("div", { class: "turns", role: "log", "aria-label": t("device.live"), tabIndex: 0 });
  const raw = h("ol", { class: "raw mono" });
  fill(panel, loading());

  watch(
    signal,
    (event) => {
      if (event.device_id !== context.device.id) return;
      raw.append(h("li", null, h("span", { class: "muted" }, clock(event.at)), " ", h("b", null, event.type), " ", fields(event)));
      while (raw.children.length > RAW) raw.firstElementChild?.remove();
      const turn = log.receive(event);
      if (turn) show(turn);
    },
    () => void read(),
  );

  /** @param {import("../../lib/turns.js").Turn} turn */
  function show(turn) {
    const follow = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END;
    let element = elements.get(turn.key);
    if (element) {
      element.show(turn);
    } else {
      element = turnElement(turn, context.device.id);
      elements.set(turn.key, element);
      list.querySelector(".empty")?.remove();
      list.append(element);
      while (list.children.length > SHOWN) {
        const first = /** @type {HTMLElement} */ (list.firstElementChild);
        elements.delete(first.dataset.key ?? "");
        first.remove();
      }
    }
    if (follow) list.scrollTop = list.scrollHeight;
  }

  async function read() {
    try {
      const { conversations } = await get("/conversations", { device: context.device.id, limit: 1 }, signal);
      const latest = conversations[0];
      if (latest) log.load((await get(`/conversations/${part(latest.session_id)}`, {}, signal)).turns.slice(-SHOWN));
    } catch (error) {
      if (signal.aborted) return;
      showError(error);
    }
    elements.clear();
    fill(list);
    for (const turn of [...log.turns.values()].slice(-SHOWN)) show(turn);
    if (!elements.size) fill(list, empty(context.device.online ? t("device.quiet") : t("device.asleep")));
    list.scrollTop = list.scrollHeight;
  }

  await read();
  if (signal.aborted) return;
  const heard = context.device.live?.heard;
  if (heard && ![...log.turns.values()].some((turn) => turn.heard === heard)) {
    const timer = setTimeout(() => void read(), WRITTEN_MS);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }
  fill(
    panel,
    list,
    h("details", null, h("summary", null, t("device.raw")), h("p", { class: "hint" }, t("device.raw.hint")), raw),
  );
  list.scrollTop = list.scrollHeight;
}

/** @param {any} event */
function fields(event) {
  const { type, at, device_id, session_id, ...rest } = event;
  return JSON.stringify(rest);
}
