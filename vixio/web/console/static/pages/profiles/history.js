// What the profile was after each change, and its return.

import { badge, button, empty, loading, notice } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { time } from "../../components/time.js";
import { toast } from "../../components/toast.js";
import { get, part, post } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { dateTime } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import { actorWords } from "../../lib/names.js";
import { changeList } from "./changes.js";
import { differences } from "./draft.js";

const FIRST = 8;

/** @param {import("./editor.js").Editor} editor */
export function historyCard(editor) {
  const path = `/profiles/${part(editor.name)}`;
  const place = h("div", { class: "stack" }, loading());
  let all = false;

  const read = async () => {
    try {
      const { versions } = await get(`${path}/versions`, {}, editor.signal);
      draw(versions);
    } catch (error) {
      if (editor.signal.aborted) return;
      fill(place, notice("warn", h("p", null, /** @type {Error} */ (error).message), button(t("retry"), read, { icon: "refresh" })));
    }
  };

  /** @param {any[]} versions the newest first */
  function draw(versions) {
    if (!versions.length) return fill(place, empty(t("profiles.history.none")));
    const shown = all ? versions : versions.slice(0, FIRST);
    const more = () => {
      all = true;
      draw(versions);
    };
    fill(
      place,
      h("ol", { class: "versions" }, ...shown.map((each, at) => version(each, versions[at + 1], at === 0))),
      shown.length < versions.length ? button(t("profiles.history.more", { count: versions.length - shown.length }), more, { small: true }) : null,
    );
  }

  /** @param {any} each @param {any} before @param {boolean} newest */
  function version(each, before, newest) {
    const changes = each.removed ? [] : differences(before && !before.removed ? before.content : {}, each.content);
    const what = each.removed ? badge(t("profiles.history.removed"), "warn") : !before ? badge(t("profiles.history.first")) : null;
    const restore = () =>
      confirmed({
        title: t("profiles.restore.title", { name: editor.name, at: dateTime(each.changed_at) }),
        text: t(editor.draft.dirty ? "profiles.restore.text.unsaved" : "profiles.restore.text"),
        act: t("profiles.restore.act"),
        danger: false,
        run: async () => {
          const found = await post(`${path}/restore`, { version: each.version });
          editor.draft.replace(found.content);
          editor.stored(found.content);
          toast(t("profiles.restored", { name: editor.name }));
        },
      });
    return h("li", null,
      h("div", { class: "row spread" },
        h("p", null, time(each.changed_at), " ", h("span", { class: "small muted" }, each.actor ? actorWords(each.actor, editor.devices.all) : ""), " ", what, newest ? badge(t("profiles.history.now"), "good") : null),
        newest || each.removed ? null : button(t("profiles.restore"), restore, { icon: "undo", small: true })),
      changes.length
        ? h("details", { class: "small" }, h("summary", null, t("profiles.history.changes", { count: changes.length })), changeList(changes))
        : h("p", { class: "small muted" }, each.removed || !before || before.removed ? "" : t("profiles.history.same")));
  }

  editor.draft.addEventListener("stored", () => void read(), { signal: editor.signal });
  void read();
  return h("details", { class: "card" }, h("summary", null, h("h2", null, t("profiles.history"))), place);
}
