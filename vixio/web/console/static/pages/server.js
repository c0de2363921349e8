// The server: how it is, its parts, log and settings, who may use it, and the devices' firmware.

import { tabs } from "../components/tabs.js";
import { fill, h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { href } from "../lib/router.js";
import "../words/server.js";
import { access } from "./server/access.js";
import { firmware } from "./server/firmware.js";
import { log } from "./server/log.js";
import { overview } from "./server/overview.js";
import { parts } from "./server/parts.js";
import { settings } from "./server/settings.js";

const FIRST = "overview";

/** @param {import("../app.js").PageContext} context */
export function page({ root, path, signal, title }) {
  title(t("nav.server"));
  let shown = path[0] ?? FIRST;
  fill(
    root,
    h("h1", null, t("nav.server")),
    tabs(
      [
        { name: FIRST, words: t("server.overview"), draw: overview },
        { name: "parts", words: t("server.parts"), draw: parts },
        { name: "log", words: t("server.log"), draw: log },
        { name: "settings", words: t("server.settings"), draw: settings },
        { name: "access", words: t("server.access"), draw: access },
        { name: "firmware", words: t("server.firmware"), draw: firmware },
      ],
      signal,
      {
        label: t("nav.server"),
        chosen: shown,
        onchange: (name) => {
          title(`${t(`server.${name}`)} · ${t("nav.server")}`);
          if (name === shown) return;
          shown = name; // so that a reload shows the same tab; no entry in the history
          history.replaceState(null, "", href(["server", name]));
        },
      },
    ),
  );
}
