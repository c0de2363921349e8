// A profile as a file: its content as JSON, without secrets. `vixio profiles save` and `load` have the same.

import { saveJson } from "../../components/file.js";
import { toast } from "../../components/toast.js";
import { fetchApi, part } from "../../lib/api.js";
import { t } from "../../lib/i18n.js";
import { json } from "./bound.js";

const MAX_BYTES = 64 * 1024;
/** Of a profile, to the server. */

/** Saves what is stored of a profile. @param {string} name */
export async function saveFile(name) {
  saveJson(name, await (await fetchApi("GET", `/profiles/${part(name)}/file`)).blob());
  toast(t("profiles.file.saved"));
}

/** Reads a file. Raises Error, in words. @param {File} file @returns {Promise<{name: string, content: Record<string, any>}>} */
export async function readFile(file) {
  if (file.size > MAX_BYTES) throw new Error(t("profiles.file.large"));
  const content = json(await file.text());
  if (typeof content !== "object" || content === null || Array.isArray(content)) throw new Error(t("profiles.json.object"));
  const name = file.name.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}_ .-]+/gu, " ").trim();
  return { name: name.slice(0, 64), content };
}
