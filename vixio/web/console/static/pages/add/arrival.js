// A device that is there: it is named, given a room and a profile, and heard for the first time.

import { button, card, field, select, showError } from "../../components/controls.js";
import { icon } from "../../components/icon.js";
import { stateBadge } from "../../components/state.js";
import { toast } from "../../components/toast.js";
import { get, part, patch, put } from "../../lib/api.js";
import { stateNow } from "../../lib/devices.js";
import { h, setText, uniqueId } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { href } from "../../lib/router.js";

export class Arrival {
  #state = stateBadge("asleep");
  #hello = h("p", { class: "muted" });
  #heard = h("p", { class: "bubble user" });
  #said = h("p", { class: "bubble assistant" });
  #works = h("p", { class: "add-works", role: "status" });

  /** @param {any} device @param {import("../../lib/devices.js").Devices} devices @param {AbortSignal} signal */
  constructor(device, devices, signal) {
    const path = `/devices/${part(device.id)}`;
    const name = h("input", { type: "text", maxLength: 64, autocomplete: "off", value: device.name });
    const rooms = h("datalist", { id: uniqueId("rooms") });
    const room = h("input", { type: "text", maxLength: 64, autocomplete: "off", value: device.place, list: rooms.id });
    const profile = select([["", t("devices.profile.none")]], "");
    const save = button(t("save"), async () => {
      await patch(path, { name: name.value.trim(), ...(room.value.trim() === device.place ? {} : { place: room.value.trim() }) });
      if (profile.value !== (device.profile ?? "")) await put(`${path}/profile`, { profile: profile.value });
      toast(t("add.saved"));
      await devices.readOne(device.id);
      device = devices.all.get(device.id) ?? device;
    }, { kind: "primary" });
    this.element = h("div", { class: "stack add-arrival" },
      h("div", { class: "notice good add-there", role: "status" }, icon("check"),
        h("div", null,
          h("p", { class: "add-there-title" }, t("add.there")),
          h("p", null, [device.board || t("devices.unknown"), device.firmware, device.address, device.id].filter(Boolean).join(" · ")))),
      h("div", { class: "grid" },
        card(t("add.name.title"),
          field(t("devices.name"), name, { hint: t("devices.name.hint") }),
          field(t("add.room"), room, { hint: t("add.room.hint") }), rooms,
          field(t("devices.profile"), profile),
          h("div", null, save)),
        card(t("add.hello.title"), h("div", null, this.#state), this.#hello, this.#heard, this.#said, this.#works)),
      h("div", { class: "row" },
        h("a", { class: "button plain", href: href(["device", device.id]) }, t("add.open")),
        h("a", { class: "button plain", href: href(["add"]) }, icon("plus"), t("add.another"))));
    this.show(device);
    void offer().catch((error) => { if (!signal.aborted) showError(error); });

    async function offer() {
      const [{ profiles }, { places }] = await Promise.all([get("/profiles", {}, signal), get("/places", {}, signal)]);
      for (const each of profiles) profile.append(h("option", { value: each.name }, each.name));
      for (const each of places) rooms.append(h("option", { value: each.name }));
      profile.value = device.profile ?? "";
    }
  }

  /** @param {any} device undefined: it was removed meanwhile */
  show(device) {
    if (!device) return;
    this.#state.value = stateNow(device);
    const words = device.live?.heard || device.live?.said ? device.live : device.last;
    setText(this.#heard, words?.heard ?? "");
    setText(this.#said, words?.said ?? "");
    const again = Boolean(words?.said && !words.heard);
    setText(this.#hello, t(again ? "add.hello.again" : "add.hello"));
    this.#hello.hidden = Boolean(words?.heard && words.said);
    setText(this.#works, words?.heard && words.said ? t("add.works") : "");
  }
}
