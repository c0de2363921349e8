// The draft on a connected device, until it is ended, the device goes or the page is left.

import { button, card, field, select } from "../../components/controls.js";
import { icon } from "../../components/icon.js";
import { toast } from "../../components/toast.js";
import { part, post, request } from "../../lib/api.js";
import { fill, h, setText } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { t } from "../../lib/i18n.js";
import { deviceLabel } from "../../lib/names.js";
import { href } from "../../lib/router.js";
import { same } from "./draft.js";

/** @typedef {import("./editor.js").Editor} Editor */

/** @param {Editor} editor @returns {{element: HTMLElement, banner: HTMLElement}} */
export function deviceTrial(editor) {
  const banner = h("div", { class: "trial-banner notice warn", role: "status", hidden: true });
  const device = select([]);
  const none = h("p", { class: "small muted" }, t("profiles.trial.none"), " ", h("a", { href: href(["talk"]), target: "_blank", rel: "noopener" }, t("profiles.trial.talk")));
  const begin = button(t("profiles.trial.begin"), () => start(device.value), { icon: "mic" });
  const choice = h("div", { class: "add-row" }, field(t("profiles.trial.device"), device), begin);
  /** @type {{id: string, content: any} | null} */
  let running = null;

  /** @param {string} id */
  const nameOf = (id) => editor.devices.all.get(id)?.name || id;

  const drawChoice = () => {
    const online = [...editor.devices.all.values()].filter((each) => each.online).sort((a, b) => nameOf(a.id).localeCompare(nameOf(b.id)));
    const now = device.value;
    const key = online.map((each) => `${each.id} ${each.name}`).join("\n");
    if (device.dataset.key !== key) {
      device.dataset.key = key;
      fill(device, ...online.map((each) => h("option", { value: each.id }, deviceLabel(each, online))));
      if (online.some((each) => each.id === now)) device.value = now;
    }
    none.hidden = online.length > 0;
    choice.hidden = !online.length;
  };

  const words = h("p");
  const renew = button(t("profiles.trial.renew"), () => start(running?.id ?? ""), { icon: "refresh", small: true });
  const stop = button(t("profiles.trial.end"), () => finish(), { icon: "stop", small: true });
  fill(banner, icon("mic"), h("div", null, words, h("div", { class: "row" }, stop, renew)));
  const drawBanner = () => {
    banner.hidden = !running;
    if (!running) return;
    const old = !same(running.content, editor.draft.content);
    setText(words, t(old ? "profiles.trial.old" : "profiles.trial.running", { name: nameOf(running.id) }));
    renew.hidden = !old;
    renew.disabled = !editor.checker.valid;
  };

  /** @param {string} id */
  async function start(id) {
    if (!id) return;
    if (running && running.id !== id) await finish();
    const content = structuredClone(editor.draft.content);
    const found = await post(`/devices/${part(id)}/trial`, { content });
    if (editor.signal.aborted) return void end(id);
    running = { id: found.device, content };
    drawBanner();
  }

  async function finish() {
    const id = running?.id;
    if (!id) return;
    try {
      await end(id);
    } catch (error) {
      if (/** @type {any} */ (error).status !== 409) throw error; // it is no longer connected: nothing is tried
    }
    running = null;
    drawBanner();
    toast(t("profiles.trial.ended", { name: nameOf(id) }));
  }

  const leave = (/** @type {boolean} */ keepalive) => {
    const id = running?.id;
    running = null;
    banner.hidden = true;
    if (id) void end(id, keepalive).catch(() => undefined); // nobody is here to see it
  };
  editor.signal.addEventListener("abort", () => leave(false), { once: true });
  addEventListener("pagehide", () => leave(true), { signal: editor.signal });
  watch(editor.signal, (event) => {
    if (!running || event.type !== "session.closed" || event.device_id !== running.id) return;
    const name = nameOf(running.id);
    running = null;
    drawBanner();
    toast(t("profiles.trial.gone", { name }));
  }, () => undefined);
  for (const name of ["all", "changed"]) editor.devices.addEventListener(name, drawChoice, { signal: editor.signal });
  editor.draft.addEventListener("change", drawBanner, { signal: editor.signal });
  editor.checker.addEventListener("checked", () => {
    begin.disabled = !editor.checker.valid;
    drawBanner();
  }, { signal: editor.signal });
  drawChoice();
  return { element: card(t("profiles.trial"), h("p", { class: "small muted" }, t("profiles.trial.about")), choice, none), banner };
}

/** @param {string} id @param {boolean} [keepalive] */
function end(id, keepalive = false) {
  return request("DELETE", `/devices/${part(id)}/trial`, { keepalive });
}
