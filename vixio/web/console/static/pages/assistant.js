// The assistant: what all devices are served with unless a profile says otherwise, and its setup.

import { t } from "../lib/i18n.js";
import "../words/assistant.js";
import { guide } from "./assistant/guide.js";
import { overview } from "./assistant/overview.js";

/** @param {import("../app.js").PageContext} context */
export async function page(context) {
  context.title(t("nav.assistant"));
  if (context.path[0] === "setup") await guide(context, context.path[1] ?? "");
  else await overview(context);
}
