// A device is added: the steps at it, its code, and what it is called once it is there.

import { busy, button, field, loading, notice, setFieldError } from "../components/controls.js";
import { onlyHere, otaAddress } from "../components/ota.js";
import { ApiError, get, post } from "../lib/api.js";
import { Devices } from "../lib/devices.js";
import { fill, h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { poll } from "../lib/poll.js";
import { href } from "../lib/router.js";
import "../words/add.js";
import { Arrival } from "./add/arrival.js";
import { picture } from "./add/pictures.js";
import { unreadable } from "./server/reading.js";

const EVERY_MS = 3_000;
/** A device that is let in without a claim, or comes back after it, makes no event. */

const LAST = 20;
/** Devices that were seen last: a new one is among them. */

const MOST = 10;

/** @param {import("../app.js").PageContext} context @returns {Promise<void>} */
export async function page(context) {
  const { root, path, signal, title } = context;
  title(t("add.title"));
  fill(root, h("h1", null, t("add.title")), loading());
  const devices = new Devices(signal);
  /** @type {any} */
  let server;
  try {
    [server] = await Promise.all([get("/server", {}, signal), devices.ready()]);
    if (devices.error) throw devices.error;
  } catch (error) {
    if (signal.aborted) return;
    const place = h("div");
    fill(root, h("h1", null, t("add.title")), place);
    return unreadable(place, error, () => page(context));
  }
  if (signal.aborted) return;
  const open = server.access === "open";
  const listed = server.access === "allow_list";
  let id = devices.all.has(path[0] ?? "") ? path[0] : "";
  const before = new Set([...devices.all.values()].filter(isIn).map((each) => each.id));
  /** @type {Arrival | null} */
  let arrival = null;
  const looking = new AbortController();
  signal.addEventListener("abort", () => looking.abort(), { once: true });
  const last = lastStep();
  fill(root, h("h1", null, t("add.title")), h("ol", { class: "add-steps" }, ...(id ? [] : steps(server.ota_url, signal)), last.element));
  devices.addEventListener("all", draw);
  devices.addEventListener("changed", draw);
  draw();
  if (!arrival) poll(looking.signal, EVERY_MS, look);

  /** Whether a device is let in and has been here since. @param {any} device @returns {boolean} */
  function isIn(device) {
    if (device.online) return true;
    return open ? device.state !== "blocked" && device.last_seen > 0 : device.state === "claimed" && device.last_seen >= device.claimed_at;
  }

  /** Whether a device waits for somebody to let it in. @param {any} device */
  function asks(device) {
    return device.state === "unclaimed" && (listed || Boolean(device.code));
  }

  async function look() {
    try {
      const found = await get("/devices", { limit: LAST }, looking.signal);
      const changed = found.devices.filter((/** @type {any} */ each) => devices.all.get(each.id)?.last_seen !== each.last_seen);
      await Promise.all(changed.map((/** @type {any} */ each) => devices.readOne(each.id)));
    } catch (error) {
      if (!looking.signal.aborted) console.warn(error); // the next look is soon
    }
  }

  function draw() {
    const known = devices.all.get(id);
    const here = known && isIn(known) ? known : [...devices.all.values()].find((each) => isIn(each) && !before.has(each.id));
    if (arrival) return arrival.show(devices.all.get(id));
    if (!here) return last.show();
    looking.abort();
    id = here.id;
    history.replaceState(null, "", href(["add", id])); // a reload shows the same
    arrival = new Arrival(here, devices, signal);
    fill(root, h("h1", null, t("add.title")), arrival.element);
    scrollTo(0, 0);
  }

  /** The step in which the server lets the device in. */
  function lastStep() {
    const waiting = h("p", { class: "add-waiting", role: "status" });
    const asking = h("ul", { class: "stack" });
    const code = h("input", { type: "text", autocomplete: "one-time-code", required: true, value: devices.all.get(id)?.code ?? "", inputmode: listed ? null : "numeric" });
    const send = button(t("add.act"), null, { kind: "primary", type: "submit" });
    const form = h("form", { class: "add-code" }, field(t(listed ? "add.mac" : "add.code"), code), send);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      setFieldError(code, "");
      void busy(send, () => claim(code.value.trim()));
    });
    const text = h("p", null, t(`add.last.${server.access}`));
    const element = step(t(`add.last.${server.access}.title`), picture(open ? "hello" : "code"), text, ...(open ? [] : [form, asking]), waiting);
    return { element, show };

    /** @param {string} words */
    async function claim(words) {
      try {
        const found = listed ? await post("/devices", { id: words }) : await post("/devices/claim", { code: words });
        id = found.id;
        await devices.readOne(id);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        setFieldError(code, error.message);
        code.select();
      }
    }

    function show() {
      const device = devices.all.get(id);
      const claimed = device?.state === "claimed";
      form.hidden = claimed;
      const those = [...devices.all.values()].filter((each) => asks(each) && (!id || each.id === id)).slice(0, MOST);
      fill(waiting, t(claimed ? "add.claimed" : open || !those.length ? "add.waiting" : "add.asking"));
      fill(asking, ...those.map((each) =>
        h("li", { class: "notice warn claim" },
          h("div", null,
            h("p", null, h("b", null, each.board || t("devices.unknown")), " ", each.code ? h("span", { class: "code mono" }, each.code) : null),
            h("p", { class: "small" }, [each.id, each.address, each.firmware].filter(Boolean).join(" · "))),
          id ? null : button(t("add.this"), () => claim(each.code || each.id)))));
    }
  }
}

/** What is done at the device. @param {string} url @param {AbortSignal} signal */
function steps(url, signal) {
  return [
    step(t("add.network.title"), picture("network"), h("p", null, t("add.network")), h("p", { class: "hint" }, t("add.network.hint"))),
    step(t("add.address.title"), picture("address"), h("p", null, t("add.address")),
      onlyHere(url) ? notice("warn", h("p", null, t("add.only-here"))) : null,
      otaAddress(url, signal), h("p", { class: "hint" }, t("add.address.hint"))),
    step(t("add.wifi.title"), picture("wifi"), h("p", null, t("add.wifi")), h("p", { class: "hint" }, t("add.wifi.hint"))),
  ];
}

/** @param {string} title @param {Element} drawing @param {...import("../lib/dom.js").Child} words */
function step(title, drawing, ...words) {
  return h("li", { class: "card add-step" }, drawing, h("div", { class: "stack" }, h("h2", null, title), ...words));
}
