// All profiles, with the devices that have each; and the removed ones, which can return.

import { badge, button, card, empty, loading, notice } from "../../components/controls.js";
import { time } from "../../components/time.js";
import { toast } from "../../components/toast.js";
import { get, part, post } from "../../lib/api.js";
import { Devices } from "../../lib/devices.js";
import { fill, h } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { listed, t } from "../../lib/i18n.js";
import { href } from "../../lib/router.js";
import { createProfile } from "./create.js";
import { removeProfile } from "./remove.js";

/** @param {import("../../app.js").PageContext} context */
export async function list({ root, signal }) {
  const devices = new Devices(signal);
  const place = h("div", { class: "stack" }, loading());
  /** @type {{profiles: any[], removed: string[]}} */
  let found = { profiles: [], removed: [] };
  let loaded = false;
  fill(root,
    h("div", { class: "page-head" }, h("h1", null, t("nav.profiles")), button(t("profiles.new"), create, { icon: "plus", kind: "primary" })),
    h("p", { class: "muted" }, t("profiles.about")),
    place);
  devices.addEventListener("all", draw);
  let having = "";
  devices.addEventListener("changed", () => {
    const now = [...devices.all.values()].filter((each) => each.profile).map((each) => `${each.profile} ${each.name} ${each.id}`).join("\n");
    if (now === having) return; // what devices say and do is not shown here
    having = now;
    draw();
  });
  watch(signal, (event) => { if (event.type === "changed" && event.about === "profile") void read(); }, () => void read());
  await read();

  function create() {
    return createProfile(signal);
  }

  async function read() {
    try {
      found = await get("/profiles", {}, signal);
      loaded = true;
      draw();
    } catch (error) {
      if (signal.aborted) return;
      fill(place, notice("bad", h("p", null, /** @type {Error} */ (error).message), button(t("retry"), read, { icon: "refresh" })));
    }
  }

  function draw() {
    if (!loaded) return;
    fill(place,
      found.profiles.length
        ? h("ul", { class: "profile-list", "aria-label": t("nav.profiles") }, ...found.profiles.map(row))
        : empty(t("profiles.none"), button(t("profiles.new"), create, { icon: "plus", kind: "primary" })),
      found.removed.length ? card(t("profiles.removed.title"), h("ul", { class: "assign-list" }, ...found.removed.map(removed))) : null);
  }

  /** @param {any} profile */
  function row({ name, content, changed_at }) {
    const its = [...devices.all.values()].filter((each) => each.profile === name);
    const names = listed(its.slice(0, 4).map((each) => each.name || each.id));
    const facts = [content.language, [content.tts].flat()[0]?.voice ?? [content.tts].flat()[0]?.name, content.agent?.model ?? content.agent?.name].filter((each) => typeof each === "string");
    return h("li", { class: "profile" },
      h("div", { class: "stack-tight" },
        h("a", { class: "profile-name", href: href(["profiles", name]) }, name),
        h("p", { class: "small muted clip" }, typeof content.instructions === "string" ? content.instructions.split("\n")[0] : t("profiles.inherits"))),
      h("div", { class: "row" }, ...facts.map((each) => badge(each))),
      h("div", { class: "stack-tight small" },
        h("p", null, h("b", null, t("profiles.devices.count", { count: its.length }))),
        h("p", { class: "muted clip" }, its.length > 4 ? `${names}, …` : names)),
      h("p", { class: "small muted" }, t("profiles.changed-at"), " ", time(changed_at)),
      h("div", { class: "row" },
        button(t("profiles.copy", { name }), () => createProfile(signal, name), { icon: "plus", iconOnly: true, small: true }),
        button(t("profiles.remove.this", { name }), async () => {
          if (await removeProfile(name, devices)) await Promise.all([read(), devices.read()]);
        }, { icon: "trash", iconOnly: true, small: true })));
  }

  /** @param {string} name */
  function removed(name) {
    const restore = async () => {
      const { versions } = await get(`/profiles/${part(name)}/versions`, {}, signal);
      await post(`/profiles/${part(name)}/restore`, { version: versions[0].version });
      toast(t("profiles.restored", { name }));
      await read();
    };
    const again = button(t("profiles.restore.removed"), restore, { icon: "undo", small: true });
    again.setAttribute("aria-label", t("profiles.restore.named", { name }));
    return h("li", null, h("span", null, name), again);
  }
}
