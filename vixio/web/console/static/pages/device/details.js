// What a device is: named, given a profile, a person and a way to connect, blocked, forgotten.

import { accessPoint } from "../../components/access-point.js";
import { button, card, field, select, showError } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { time } from "../../components/time.js";
import { toast } from "../../components/toast.js";
import { get, patch, post, put, remove } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { actorWords } from "../../lib/names.js";
import { go, href } from "../../lib/router.js";

const TOOL_MS = 65_000;

/**
 * @param {HTMLElement} panel
 * @param {import("../device.js").DeviceContext} context
 */
export async function details(panel, context) {
  const { device, path, signal } = context;
  const name = h("input", { type: "text", maxLength: 64, value: device.name, autocomplete: "off" });
  const profile = select([["", t("devices.profile.none")]], "");
  const person = select([["", t("device.person.none")]], "");
  const carrier = select([["", ""], ["mqtt", t("device.carrier.mqtt")], ["websocket", t("device.carrier.websocket")]], "");
  const memory = h("a", { href: href(["memory", "devices", device.id]) }, t("device.memory"));
  const facts = h("dl");
  const assets = h("input", { type: "url", maxLength: 1_000, autocomplete: "off" });
  const give = button(t("device.assets.send"), async () => {
    if (!assets.checkValidity() || !assets.value) return assets.focus();
    await post(`${path}/assets`, { url: assets.value.trim() }, { timeout: TOOL_MS });
    assets.value = "";
    toast(t("device.assets.sent"));
  });
  const blocking = h("div", { class: "row" });
  fill(
    panel,
    card(t("device.about"), facts),
    card(
      t("device.serves"),
      h("div", { class: "row" }, h("div", { class: "grow" }, field(t("devices.name"), name)),
        button(t("save"), () => change(() => patch(path, { name: name.value.trim() })))),
      field(t("devices.profile"), profile),
      field(t("device.person"), person),
      memory,
    ),
    card(t("device.assets"), field(t("device.assets.url"), assets, { hint: t("device.assets.hint") }), h("div", null, give)),
    accessPoint(path, signal),
    card(t("device.access"), blocking),
  );
  profile.addEventListener("change", () => void change(() => put(`${path}/profile`, { profile: profile.value })).catch(showError));
  person.addEventListener("change", () => void change(() => put(`${path}/person`, { person: person.value })).catch(showError));
  carrier.addEventListener("change", () => void change(() => patch(path, { carrier: carrier.value }), "device.saved.carrier").catch(showError));
  draw();
  context.addEventListener("changed", draw);
  try {
    const [{ profiles }, { people }, { mqtt }] = await Promise.all(["/profiles", "/people", "/server"].map((each) => get(each, {}, signal)));
    if (mqtt) {
      carrier.options[0].textContent = t("device.carrier.default", { way: t(mqtt === "all" ? "device.by.udp" : "device.by.websocket") });
      carrier.value = context.device.carrier;
      memory.before(field(t("device.carrier"), carrier, { hint: t("device.carrier.hint") }));
    }
    for (const each of profiles) profile.append(h("option", { value: each.name }, each.name));
    for (const each of people) person.append(h("option", { value: each.id }, each.name));
    profile.value = context.device.profile ?? "";
    person.value = context.device.person ?? "";
  } catch (error) {
    showError(error);
  }

  /** @param {() => Promise<any>} act @param {string} [saved] what is said then */
  async function change(act, saved = "device.saved") {
    await act();
    toast(t(saved));
    await context.read();
  }

  function draw() {
    const now = context.device;
    const rows = [
      ["device.id", now.id], ["device.board", now.board], ["device.chip", now.chip], ["device.firmware", now.firmware], ["device.address", now.address],
      ["device.rssi", now.rssi ? t("devices.signal", { dbm: now.rssi }) : ""], ["device.language", now.language], ["device.serial", now.serial],
      ["device.by", now.live ? t(`device.by.${now.live.transport}`) : ""], ["device.features", now.features.join(", ")], ["device.echo", now.hears_itself ? t("device.echo.none") : ""],
      ["device.glyphs", now.lacks_glyphs ? t("device.glyphs.none") : ""],
    ].filter(([, value]) => value);
    fill(
      facts,
      ...rows.flatMap(([key, value]) => [h("dt", null, t(key)), h("dd", { class: "mono" }, value)]),
      h("dt", null, t("device.first-seen")), h("dd", null, time(now.first_seen)),
      h("dt", null, t("device.last-seen")), h("dd", null, time(now.last_seen)),
      ...(now.claimed_at ? [h("dt", null, t("device.claimed")), h("dd", null, time(now.claimed_at), " ", actorWords(now.claimed_by))] : []),
    );
    give.disabled = assets.disabled = !now.online;
    give.title = now.online ? "" : t("device.asleep");
    fill(
      blocking,
      now.state === "blocked"
        ? button(t("device.unblock"), () => change(() => post(`${path}/unblock`)))
        : button(t("device.block"), block, { kind: "danger" }),
      button(t("device.tokens.revoke"), revoke, { kind: "danger" }),
      button(t("device.forget"), forget, { kind: "danger", icon: "trash" }),
    );
  }

  function block() {
    return confirmed({
      title: t("device.block.title", { name: context.name }),
      text: t("device.block.text"),
      act: t("device.block"),
      run: () => change(() => post(`${path}/block`)),
    });
  }

  function revoke() {
    return confirmed({
      title: t("device.tokens.title", { name: context.name }),
      text: t("device.tokens.text"),
      act: t("device.tokens.revoke"),
      run: () => change(() => remove(`${path}/tokens`)),
    });
  }

  function forget() {
    return confirmed({
      title: t("device.forget.title", { name: context.name }),
      text: t("device.forget.text"),
      act: t("device.forget"),
      run: async () => {
        await remove(path);
        go(["devices"]);
      },
    });
  }
}
