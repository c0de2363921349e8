// Documents that the assistant searches: added, listed, searched, erased.

import { badge, button, busy, card, empty, field, loading, select } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { fileField } from "../../components/file.js";
import { toast } from "../../components/toast.js";
import { get, part, remove, request } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { bytes } from "../../lib/format.js";
import { t } from "../../lib/i18n.js";
import "../../words/papers.js";
import { follow, has, Keyed, searchField } from "./parts.js";

const UPLOAD_MS = 180_000;
const SEARCHED = 6;
/** Documents from which on there is a search among their names. */
const FOLDERS_MS = 5_000;
/** A folder is followed by the server without an event: while the page is open, it looks again. */

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export function papers(panel, signal) {
  /** @type {any[]} */
  let all = [];
  /** @type {Map<string, string>} */
  let people = new Map();
  const names = searchField(t("papers.filter"), draw);
  const place = h("div", null, loading());
  const list = h("ul", { class: "lines" });
  const keyed = new Keyed(list);
  const owner = select([["", t("papers.of.all")]]);
  fill(
    panel,
    card(t("papers.add"), field(t("papers.of"), owner), uploadForm(), addressForm()),
    card(t("papers.try"), searchForm()),
    card(t("papers.list"), names.element, place),
  );
  names.element.hidden = true;
  const again = follow({ signal, place, read, concerns: (event) => event.type === "changed" && ["paper", "person"].includes(event.about) });
  const looking = setInterval(() => { if (!document.hidden) void again(); }, FOLDERS_MS);
  signal.addEventListener("abort", () => clearInterval(looking), { once: true });

  async function read() {
    const [found, known, profiles] = await Promise.all([
      get("/papers", {}, signal),
      get("/people", {}, signal).catch(() => ({ people: [] })),
      get("/profiles", {}, signal).catch(() => ({ profiles: [] })),
    ]);
    all = found.papers;
    people = new Map(known.people.map((/** @type {any} */ each) => [each.id, each.name]));
    const choices = [
      ["", t("papers.of.all")],
      ...[...people].map(([id, name]) => [`person=${id}`, t("papers.of.person", { name })]),
      ...profiles.profiles.map((/** @type {any} */ each) => [`profile=${each.name}`, t("papers.of.profile", { name: each.name })]),
    ];
    const chosen = owner.value;
    fill(owner, choices.map(([value, words]) => h("option", { value }, words)));
    owner.value = chosen;
    draw();
  }

  function draw() {
    names.element.hidden = all.length < SEARCHED;
    const shown = all.filter((each) => has(names.control.value, each.name, each.origin));
    if (!shown.length) return fill(place, empty(t(all.length ? "memory.no-match" : "papers.none")));
    keyed.show(shown, (each) => each.id, (each) => JSON.stringify([each, people.get(each.person)]), item);
    if (list.parentElement !== place) fill(place, list);
  }

  /** @param {any} each */
  function item(each) {
    const whose = each.person
      ? t("papers.of.person", { name: people.get(each.person) ?? each.person })
      : each.profile ? t("papers.of.profile", { name: each.profile }) : t("papers.of.all");
    const about = [whose, bytes(each.size), each.pages ? t("papers.pages", { count: each.pages }) : "", each.origin].filter(Boolean);
    return h("li", { class: "line" },
      h("div", { class: "line-main" },
        h("span", { class: "line-name" }, each.name),
        each.problem ? badge(t("papers.failed"), "bad") : null,
        h("p", { class: "small muted" }, about.join(" · ")),
        each.problem ? h("p", { class: "small" }, each.problem) : null),
      h("div", { class: "line-more" },
        button(t("papers.erase.one", { name: each.name }), () => erase(each), { icon: "trash", iconOnly: true })));
  }

  /** @param {any} each */
  async function erase(each) {
    await confirmed({
      title: t("papers.erase.title", { name: each.name }),
      text: t(each.origin && !isAddress(each.origin) ? "papers.erase.folder" : "papers.erase.text"),
      act: t("papers.erase.act"),
      run: async () => {
        await remove(`/papers/${part(each.id)}`).finally(again);
        toast(t("papers.erased", { name: each.name }));
      },
    });
  }

  /** Whose documents are meant, as the API has it. */
  const whose = () => Object.fromEntries(owner.value ? [owner.value.split(/=(.*)/s)] : []);

  function uploadForm() {
    const file = h("input", { type: "file", accept: ".pdf,.docx,.md,.markdown,.txt,.html,.htm", required: true });
    const send = button(t("papers.add.act"), null, { type: "submit", kind: "primary", icon: "upload" });
    const form = h("form", {
      class: "stack",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void busy(send, async () => {
          const chosen = /** @type {File} */ (file.files?.[0]);
          const upload = new Blob([chosen], { type: "application/octet-stream" });
          const found = await request("POST", "/papers", { upload, query: { name: chosen.name, ...whose() }, timeout: UPLOAD_MS });
          toast(t("papers.added", { name: found.name }));
          form.reset();
          await again();
        });
      },
    }, fileField(t("papers.file"), file, { hint: t("papers.file.hint") }), h("div", { class: "row" }, send));
    return form;
  }

  function addressForm() {
    const address = h("input", { type: "url", required: true, maxLength: 2000, pattern: "https?://.+", placeholder: "https://", autocomplete: "off" });
    const send = button(t("papers.fetch"), null, { type: "submit", icon: "download" });
    const form = h("form", {
      class: "stack",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void busy(send, async () => {
          const found = await request("POST", "/papers/pages", { body: { address: address.value }, query: whose(), timeout: UPLOAD_MS });
          toast(t("papers.added", { name: found.name }));
          form.reset();
          await again();
        });
      },
    }, field(t("papers.address"), address, { hint: t("papers.address.hint") }), h("div", { class: "row" }, send));
    return form;
  }

  function searchForm() {
    const question = h("input", { type: "search", required: true, maxLength: 500, autocomplete: "off" });
    const send = button(t("papers.try.act"), null, { type: "submit", icon: "search" });
    const answer = h("div", { role: "status" });
    return h("form", {
      class: "stack",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void busy(send, async () => {
          const { passages } = await get("/papers/search", { question: question.value, ...whose() }, signal);
          fill(answer, passages.length ? h("ul", { class: "lines" }, passages.map(passage)) : empty(t("papers.try.nothing")));
        });
      },
    }, h("div", { class: "memory-head" }, field(t("papers.question"), question), send), answer);
  }

  /** @param {any} each */
  function passage(each) {
    const place = each.page ? t("papers.page", { name: each.document, page: each.page }) : each.document;
    return h("li", { class: "line" }, h("div", { class: "line-main" }, h("span", { class: "line-name" }, place), h("p", { class: "small" }, each.text)));
  }
}

/** Of a web page, not a path of a folder. @param {string} origin */
function isAddress(origin) {
  return /^https?:/i.test(origin);
}
