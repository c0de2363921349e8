// The page Talk: the browser as a voice device.

import "../words/device.js";
import "../words/talk.js";
import { watch } from "../lib/feed.js";
import { fill, h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { Device } from "../talk/device.js";
import { details } from "./talk/details.js";
import { conversation } from "./talk/log.js";
import { hardwareCard, settingsCard } from "./talk/settings.js";
import { notices } from "./talk/notices.js";
import { stage } from "./talk/stage.js";

/** @param {import("../app.js").PageContext} context */
export function page({ root, query, signal, title }) {
  title(t("talk.title"));
  const device = new Device({ name: t("talk.name"), codec: query.get("codec") === "pcm" ? "pcm" : undefined });
  signal.addEventListener("abort", () => device.close(), { once: true });
  addEventListener("pagehide", () => device.stop(), { signal });
  const scene = stage(device, signal);
  fill(
    root,
    h("div", { class: "page-head" }, h("h1", null, t("talk.title"))),
    h("p", { class: "muted" }, t("talk.intro")),
    notices(device),
    h("div", { class: "talk" }, scene.element, conversation(device)),
    h("div", { class: "grid" }, settingsCard(device, signal), hardwareCard(device)),
    details(device),
  );
  // What is heard while it is being said: known by the stream of events, where somebody is signed in.
  watch(
    signal,
    (event) => {
      if (event.device_id === device.who.id && event.type === "transcript.partial" && event.text) scene.partial(event.text);
    },
    () => {},
  );
}
