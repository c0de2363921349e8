// The address at which a user's own MCP servers connect, of a profile or a device; and who is there.

import "../words/access-point.js";
import { get, post, remove } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { poll } from "../lib/poll.js";
import { button, card, loading, notice } from "./controls.js";
import { copyButton } from "./copy.js";
import { confirmed } from "./dialog.js";
import { toast } from "./toast.js";

const LOOK_MS = 3_000;

/** @param {string} path of the profile or device @param {AbortSignal} signal */
export function accessPoint(path, signal) {
  const place = h("div", { class: "stack" }, loading());
  const shown = h("div", { class: "stack" });
  const own = `${path}/access-point`;
  /** @type {any} */
  let found = null;
  let drawn = "";

  async function read() {
    try {
      found = await get(own, {}, signal);
    } catch (error) {
      if (signal.aborted || found !== null) return;
      return fill(place, notice("bad", h("p", null, /** @type {Error} */ (error).message), button(t("retry"), read, { icon: "refresh" })));
    }
    const now = JSON.stringify(found);
    if (now !== drawn) draw();
    drawn = now;
  }

  async function make() {
    const made = await post(own);
    fill(shown, ...address(made));
    await read();
  }

  const again = () => confirmed({
    title: t("access.again.title"), text: t("access.again.text"), act: t("access.again"), run: make,
  });

  const revoke = () => confirmed({
    title: t("access.revoke.title"), text: t("access.revoke.text"), act: t("access.revoke"),
    run: async () => {
      await remove(own);
      fill(shown);
      toast(t("access.revoked"));
      await read();
    },
  });

  function draw() {
    if (!found.exists) return fill(place, h("div", null, button(t("access.make"), make, { icon: "plus" })));
    fill(place,
      found.servers.length
        ? h("ul", { class: "access-servers" }, ...found.servers.map(server))
        : h("p", { class: "small muted" }, t("access.nobody")),
      h("div", { class: "row" },
        button(t("access.again"), again, { icon: "refresh", small: true }),
        button(t("access.revoke"), revoke, { icon: "trash", kind: "danger", small: true })));
  }

  poll(signal, LOOK_MS, read);
  return card(t("access.title"), h("p", { class: "small muted" }, t("access.about")), shown, place);
}

/** @param {any} made */
function address(made) {
  const picture = h("img", { class: "qr", alt: t("access.qr"), width: 148, height: 148 });
  const blob = URL.createObjectURL(new Blob([made.picture], { type: "image/svg+xml" }));
  picture.onload = picture.onerror = () => URL.revokeObjectURL(blob);
  picture.src = blob;
  return [
    notice("info", h("p", null, t("access.once"))),
    h("code", { class: "ota" }, made.url),
    h("div", { class: "row" }, picture, copyButton(() => made.url)),
  ];
}

/** @param {any} each */
function server(each) {
  const tools = h("ul", null, ...each.tools.map((/** @type {any} */ tool) =>
    h("li", { class: "small" }, h("code", null, tool.name), " ", h("span", { class: "muted" }, tool.description))));
  return h("li", null,
    h("details", null,
      h("summary", null, h("code", null, each.name), " ", t("access.tools", { count: each.tools.length })), tools));
}
