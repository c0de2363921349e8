// Facts that can be added, edited and erased one by one: of a device, or about a person.

import { busy, button, card, empty, field, loading, setFieldError } from "../../components/controls.js";
import { confirmed, openDialog } from "../../components/dialog.js";
import { toast } from "../../components/toast.js";
import { post, put, remove } from "../../lib/api.js";
import { fill, h, setText } from "../../lib/dom.js";
import { number } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { has, Keyed, refuse, searchField } from "./parts.js";

const LIMIT = 100;
const SEARCHED = 6;
/** Facts from which on there is a search. */

/**
 * A card with facts. `show` is given what the API shows of them; `before` stands above them.
 *
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.path of the facts
 * @param {() => Promise<void>} options.changed reads them anew
 * @param {import("../../lib/dom.js").Child[]} [options.before]
 */
export function factsCard({ title, path, changed, before = [] }) {
  /** @type {{id: string, text: string}[] | null} */
  let facts = null;
  const search = searchField(t("facts.search"), draw);
  const count = h("p", { class: "small muted" });
  const place = h("div", null, loading());
  const list = h("ul", { class: "lines" });
  const keyed = new Keyed(list);
  const text = h("input", { type: "text", maxLength: 500, autocomplete: "off" });
  const send = button(t("facts.add.act"), null, { type: "submit", icon: "plus" });
  search.element.hidden = true;
  const form = h("form", { class: "memory-head", onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); void busy(send, add); } },
    field(t("facts.add"), text, { hint: t("facts.add.hint") }), send);
  const element = card(title, ...before, search.element, place, form, count);

  async function add() {
    setFieldError(text, "");
    if (!text.value.trim()) refuse(text, t("facts.add.hint"));
    await post(path, { text: text.value });
    text.value = "";
    toast(t("facts.added"));
    await changed();
  }

  function draw() {
    if (!facts) return;
    search.element.hidden = facts.length < SEARCHED;
    const shown = facts.filter((each) => has(search.control.value, each.text));
    setText(count, facts.length ? t("facts.count", { count: number(facts.length), limit: LIMIT }) : "");
    if (!shown.length) return fill(place, empty(t(facts.length ? "memory.no-match" : "facts.none")));
    keyed.show(shown, (each) => each.id, (each) => each.text, item);
    if (list.parentElement !== place) fill(place, list);
  }

  /** @param {{id: string, text: string}} each */
  function item(each) {
    const fact = each.text;
    return h("li", { class: "line" },
      h("p", { class: "line-main" }, fact),
      h("div", { class: "line-more" },
        button(t("facts.edit.one", { fact }), () => edit(each), { icon: "edit", iconOnly: true }),
        button(t("facts.erase.one", { fact }), () => erase(each), { icon: "trash", iconOnly: true })));
  }

  /** @param {{id: string, text: string}} each */
  async function edit(each) {
    const words = h("textarea", { required: true, maxLength: 500, value: each.text });
    await openDialog(
      {
        title: t("facts.edit.title"),
        act: t("save"),
        run: async () => {
          await put(`${path}/${each.id}`, { text: words.value.split(/\s+/).join(" ").trim() }).finally(changed);
          toast(t("facts.changed"));
        },
      },
      field(t("facts.add"), words, { hidden: true }),
    );
  }

  /** @param {{id: string, text: string}} each */
  async function erase(each) {
    await confirmed({
      title: t("facts.erase.title", { fact: each.text }),
      text: t("facts.erase.text"),
      act: t("erase"),
      run: async () => {
        await remove(`${path}/${each.id}`).finally(changed);
        toast(t("facts.erased"));
      },
    });
  }

  return {
    element,
    /** Whether facts can be added. @param {boolean} may */
    allow(may) {
      form.hidden = !may;
    },
    /** @param {{facts: string[], fact_ids: string[]}} shown */
    show(shown) {
      facts = shown.facts.map((words, at) => ({ id: shown.fact_ids[at], text: words }));
      draw();
    },
  };
}
