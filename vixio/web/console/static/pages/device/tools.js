// The tools of a device, each called from a form made of its schema.

import { badge, button, card, empty, loading, notice } from "../../components/controls.js";
import { schemaForm } from "../../components/schema-form.js";
import { post } from "../../lib/api.js";
import { duration } from "../../lib/format.js";
import { fill, h } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { t } from "../../lib/i18n.js";
import { listTools } from "./controls.js";

const TOOL_MS = 65_000;

/**
 * @param {HTMLElement} panel
 * @param {import("../device.js").DeviceContext} context
 * @param {AbortSignal} signal
 */
export async function tools(panel, context, signal) {
  const read = async () => {
    const { online, tools: known } = context.device;
    if (!online) {
      const list = h("ul", null, ...known.map((/** @type {string} */ each) => h("li", null, h("code", null, each))));
      return fill(panel, notice("info", h("p", null, t("device.tools.asleep"))), known.length ? card(t("device.tools.known"), list) : null);
    }
    try {
      const found = await listTools(context);
      if (signal.aborted) return;
      fill(panel, ...(found.length ? found.map((tool) => toolElement(context, tool)) : [empty(t("device.no-tools"))]));
    } catch (error) {
      if (signal.aborted) return;
      fill(panel, notice("info", h("p", null, /** @type {Error} */ (error).message), button(t("retry"), read, { icon: "refresh" })));
    }
  };
  let awake = context.device.online;
  const changed = () => {
    if (awake !== context.device.online) void read();
    awake = context.device.online;
  };
  context.addEventListener("changed", changed);
  signal.addEventListener("abort", () => context.removeEventListener("changed", changed), { once: true });
  watch(
    signal,
    (event) => {
      if (event.device_id === context.device.id && event.type === "device.tools") void read();
    },
    () => undefined,
  );
  fill(panel, loading());
  await read();
}

/** @param {import("../device.js").DeviceContext} context @param {any} tool */
function toolElement(context, tool) {
  const form = schemaForm(tool.parameters);
  const answer = h("div", { role: "status" });
  const send = button(t("device.tool.call"), null, { kind: "primary", type: "submit", small: true });
  const kind = tool.user ? "user-tools" : "tools";
  return h(
    "details",
    { class: "card tool-card" },
    h("summary", null, h("code", null, tool.name), " ", tool.user ? badge(t("device.tool.user")) : null),
    h("p", { class: "small muted" }, tool.description),
    h(
      "form",
      {
        class: "stack",
        onsubmit: async (/** @type {Event} */ event) => {
          event.preventDefault();
          const began = performance.now();
          send.setAttribute("aria-busy", "true");
          try {
            const values = form.read();
            const found = await post(`${context.path}/${kind}/${encodeURIComponent(tool.name)}`, { arguments: values }, { timeout: TOOL_MS });
            const took = duration(performance.now() - began);
            fill(answer, badge(found.success ? took : t("turn.failed"), found.success ? "good" : "bad"), h("pre", null, found.text));
          } catch (error) {
            fill(answer, notice("bad", /** @type {Error} */ (error).message));
          } finally {
            send.removeAttribute("aria-busy");
          }
        },
      },
      form.element,
      h("div", { class: "row" }, send),
      answer,
    ),
  );
}
