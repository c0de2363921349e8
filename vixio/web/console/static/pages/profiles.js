// Profiles: a list of them, and the editor of one.

import { t } from "../lib/i18n.js";
import "../words/devices.js";
import "../words/profiles.js";
import { editor } from "./profiles/editor.js";
import { list } from "./profiles/list.js";

/** @param {import("../app.js").PageContext} context */
export async function page(context) {
  context.title(context.path[0] ?? t("nav.profiles"));
  if (context.path[0]) await editor(context, context.path[0]);
  else await list(context);
}
