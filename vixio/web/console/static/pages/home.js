// What a person wants to know at a glance: what is wrong, who is awake, today, what comes next.

import { button, card, loading, notice } from "../components/controls.js";
import { icon } from "../components/icon.js";
import { Devices } from "../lib/devices.js";
import { fill, h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { href } from "../lib/router.js";
import "../words/home.js";
import { Awake } from "./home/awake.js";
import { next } from "./home/next.js";
import { today } from "./home/today.js";
import { troubles } from "./home/troubles.js";

/** @param {import("../app.js").PageContext} context */
export function page({ root, signal, title }) {
  title(t("nav.home"));
  const devices = new Devices(signal);
  const place = h("div", { class: "stack" }, loading());
  const awake = new Awake();
  const figures = h("div");
  const reminders = h("div");
  const cards = h("div", { class: "grid home-cards" },
    card(t("home.awake"), awake.element),
    h("div", { class: "stack" }, card(t("home.today"), figures), card(t("home.next"), reminders)));
  const welcome = h("section", { class: "empty home-welcome" },
    h("h2", null, t("home.welcome")), h("p", null, t("home.welcome.text")),
    h("div", { class: "row" },
      h("a", { class: "button primary", href: href(["add"]) }, icon("plus"), h("span", null, t("home.add"))),
      h("a", { class: "button plain", href: href(["talk"]) }, icon("talk"), h("span", null, t("home.talk")))));
  const add = h("a", { class: "button plain", href: href(["add"]), hidden: true }, icon("plus"), h("span", null, t("home.add")));
  fill(root,
    h("div", { class: "page-head" }, h("h1", null, t("nav.home")), add),
    troubles(devices, signal),
    place);
  let begun = false;
  devices.addEventListener("all", draw);
  devices.addEventListener("changed", draw);

  function draw() {
    if (devices.error && !devices.all.size) {
      const again = button(t("retry"), () => devices.read(), { icon: "refresh" });
      return fill(place, notice("bad", h("p", null, devices.error.message), again));
    }
    const shown = devices.all.size ? cards : welcome;
    if (!place.contains(shown)) fill(place, shown);
    add.hidden = shown === welcome;
    if (shown === welcome) return;
    awake.show(devices.all);
    if (begun) return;
    begun = true;
    today(figures, signal);
    next(reminders, devices, signal);
  }
}
