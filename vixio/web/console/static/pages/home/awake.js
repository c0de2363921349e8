// Who is awake and what they do, a line for each; and who sleeps.

import { stateBadge } from "../../components/state.js";
import { stateNow } from "../../lib/devices.js";
import { fill, h, setText } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { href } from "../../lib/router.js";

const MOST = 8;

/** @param {any} device */
export const nameOf = (device) => device.name || device.person || device.id;

export class Awake {
  #list = h("ul", { class: "lines", "aria-label": t("home.awake") });
  #none = h("p", { class: "muted" }, t("home.awake.none"));
  #more = h("a", { href: href(["devices"]) });
  #asleep = h("p", { class: "small muted home-asleep" });
  #sleepers = "";
  /** @type {Map<string, Line>} */
  #lines = new Map();
  element = h("div", { class: "stack" }, this.#list, this.#none, this.#more, this.#asleep);

  /** @param {Map<string, any>} all */
  show(all) {
    const known = [...all.values()].filter((each) => !["waiting", "blocked"].includes(stateNow(each)));
    const isAwake = (/** @type {any} */ each) => each.online && stateNow(each) !== "reachable";
    const awake = known.filter(isAwake).sort(byName);
    const shown = awake.slice(0, MOST);
    this.#none.hidden = awake.length > 0;
    this.#more.hidden = awake.length <= MOST;
    setText(this.#more, t("home.awake.more", { count: awake.length - MOST }));
    for (const id of this.#lines.keys()) if (!shown.some((each) => each.id === id)) this.#lines.delete(id);
    const wanted = shown.map((each) => {
      const line = this.#lines.get(each.id) ?? new Line(each.id);
      this.#lines.set(each.id, line);
      line.show(each);
      return line.element;
    });
    if (wanted.length !== this.#list.children.length || wanted.some((each, at) => this.#list.children[at] !== each)) fill(this.#list, ...wanted);
    this.#list.hidden = !wanted.length;
    this.#sleep(known.filter((each) => !isAwake(each)).sort((a, b) => b.last_seen - a.last_seen));
  }

  /** @param {any[]} those */
  #sleep(those) {
    const names = those.slice(0, MOST);
    const shown = JSON.stringify([those.length, names.map((each) => [each.id, nameOf(each)])]);
    if (shown === this.#sleepers) return;
    this.#sleepers = shown;
    this.#asleep.hidden = !those.length;
    fill(this.#asleep, t("home.asleep"), " ", ...names.flatMap((each, at) => [at ? t("list.between") : "", h("a", { href: href(["device", each.id]) }, nameOf(each))]),
      ...(those.length > MOST ? [" ", h("a", { href: href(["devices"]) }, t("home.asleep.more", { count: those.length - MOST }))] : []));
  }
}

/** @param {any} a @param {any} b */
function byName(a, b) {
  return nameOf(a).localeCompare(nameOf(b)) || a.id.localeCompare(b.id);
}

/** One device. */
class Line {
  #name = h("a", { class: "device-name" });
  #state = stateBadge("idle");
  #words = h("p", { class: "small muted home-words" });

  /** @param {string} id */
  constructor(id) {
    this.#name.href = href(["device", id]);
    this.element = h("li", { class: "line" }, h("div", { class: "line-main" }, this.#name, this.#words), h("div", { class: "line-more" }, this.#state));
  }

  /** @param {any} device */
  show(device) {
    setText(this.#name, nameOf(device));
    this.#state.value = stateNow(device);
    const live = device.live ?? {};
    setText(this.#words, live.said ? live.said : live.heard ? t("home.heard", { words: live.heard }) : device.place);
  }
}
