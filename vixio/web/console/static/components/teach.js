// "Heard wrongly?": what the recogniser writes stands for something else from the next turn on.

import { get, part, put } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import "../words/turn.js";
import { field } from "./controls.js";
import { openDialog } from "./dialog.js";
import { toast } from "./toast.js";

/** @typedef {Record<string, string>} Corrections */

/**
 * Where corrections of a device stand, and what writes them.
 *
 * @typedef {object} Place
 * @property {string} scope for whom they hold, in words
 * @property {Corrections} now those in force
 * @property {((corrections: Corrections) => Promise<unknown>) | null} write null: they cannot be changed here
 * @property {string} [why] why not
 */

/**
 * Asks what was meant, and has it understood so from the next turn on.
 * @param {string} device its id @param {string} heard empty: nothing was understood
 */
export async function teach(device, heard) {
  const place = await placeOf(device);
  const hears = h("input", { autocomplete: "off", required: true, maxLength: 80, value: bare(heard), readOnly: !place.write });
  const means = h("input", { autocomplete: "off", required: true, maxLength: 80, readOnly: !place.write });
  const done = await openDialog(
    {
      title: t("teach.title"),
      act: t(place.write ? "teach.act" : "close"),
      run: async () => {
        await place.write?.({ ...place.now, [hears.value.trim()]: means.value.trim() });
      },
    },
    field(t(heard ? "teach.hears" : "teach.said"), hears, { hint: t(heard ? "teach.hears.hint" : "teach.said.hint") }),
    field(t("teach.means"), means, { hint: t("teach.means.hint") }),
    h("p", { class: "small muted" }, place.write ? place.scope : (place.why ?? "")),
  );
  if (done && place.write) toast(t("teach.done"));
}

/** Without the signs at its end: those are not said. @param {string} text */
const bare = (text) => text.trim().replace(/[.?!,;。？！，；…]+$/u, "");

/** @param {string} id @returns {Promise<Place>} */
async function placeOf(id) {
  const { profile } = await get(`/devices/${part(id)}`);
  if (profile) {
    const path = `/profiles/${part(profile)}`;
    const [{ content }, { defaults }] = await Promise.all([get(path), get("/profiles/schema")]);
    return {
      scope: t("teach.profile", { profile }),
      now: content.corrections ?? defaults.corrections ?? {},
      write: (corrections) => put(path, { content: { ...content, corrections } }),
    };
  }
  const found = await get("/assistant");
  const fixed = found.fixed["assistant.corrections"];
  const { assistant } = found.content;
  return {
    scope: t("teach.all"),
    now: found.in_force.assistant.corrections ?? {},
    why: fixed ? t("teach.fixed", { place: fixed }) : found.why_not,
    write: fixed || !found.editable ? null : (corrections) => put("/assistant", {
      content: { ...found.content, assistant: { ...assistant, corrections } },
      changed_at: found.changed_at ?? 0,
    }),
  };
}
