// The removal of a profile, with a question that names its devices.

import { confirmed } from "../../components/dialog.js";
import { toast } from "../../components/toast.js";
import { part, remove } from "../../lib/api.js";
import { listed, t } from "../../lib/i18n.js";

/**
 * Resolves with whether it was removed.
 * @param {string} name @param {import("../../lib/devices.js").Devices} devices @param {() => void} [begun] called when it is certain
 * @returns {Promise<boolean>}
 */
export async function removeProfile(name, devices, begun) {
  const its = [...devices.all.values()].filter((each) => each.profile === name);
  const names = listed(its.slice(0, 12).map((each) => each.name || each.id));
  const done = await confirmed({
    title: t("profiles.remove.title", { name }),
    text: its.length ? t("profiles.remove.devices", { count: its.length, names: its.length > 12 ? `${names}, …` : names }) : t("profiles.remove.none"),
    act: t("remove"),
    run: () => {
      begun?.();
      return remove(`/profiles/${part(name)}`);
    },
  });
  if (done) toast(t("profiles.removed", { name }));
  return done;
}
