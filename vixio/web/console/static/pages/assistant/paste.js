// Tools by paste: the JSON of desktop programs, or an address, tried and saved for a profile.

import { badge, button, card, empty, field, notice, select } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { toast } from "../../components/toast.js";
import { ApiError, get, part, post, remove } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { ownWords } from "../../lib/problems.js";
import "../../words/paste.js";

/** @typedef {{message: string, line: number, column: number}} Mistake */

const TIMEOUT_MS = 120_000; // a trial has 60 s to start, 20 s for a call, and the look at an address

/** The card. @param {AbortSignal} signal */
export function pasteCard(signal) {
  const list = h("div");
  const said = h("div", { class: "stack", role: "status" });
  const text = h("textarea", { class: "mono", rows: 9, spellcheck: false, autocomplete: "off", maxLength: 65_536, placeholder: '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}' });
  const whose = h("div");
  let profile = select([["", t("paste.all")]], "");
  const header = h("input", { type: "password", autocomplete: "off", spellcheck: false, maxLength: 4_000 });
  const authorization = field(t("paste.token"), header, { hint: t("paste.token.hint") });
  const save = button(t("save"), () => store(), { kind: "primary", icon: "check" });
  const programs = h("p", { class: "small muted" });
  save.hidden = true;
  text.addEventListener("input", () => {
    save.hidden = true;
    authorization.hidden = !isAddress();
  });
  authorization.hidden = true;

  const isAddress = () => /^https?:\/\/\S+$/i.test(text.value.trim());

  const body = () => ({
    text: text.value,
    profile: profile.value,
    headers: isAddress() && header.value.trim() ? { Authorization: `Bearer ${header.value.trim()}` } : {},
  });

  /** Shows what is wrong, each mistake at its line. @param {unknown} error */
  function refused(error) {
    if (!(error instanceof ApiError) || error.status !== 422 || !error.body.mistakes) throw error;
    /** @type {Mistake[]} */
    const mistakes = error.body.mistakes;
    const lines = text.value.split(/\r\n|\r|\n/);
    fill(said, notice("bad", h("p", null, t("paste.mistakes", { count: mistakes.length })), h("ul", { class: "paste-mistakes" }, ...mistakes.map((each) => mistakeLine(each, lines)))));
    if (mistakes[0]?.line) mark(lines, mistakes[0]);
  }

  /** @param {Mistake} mistake @param {string[]} lines */
  function mistakeLine(mistake, lines) {
    const place = mistake.line ? button(t("paste.line", { line: mistake.line, column: mistake.column }), () => mark(lines, mistake), { small: true }) : null;
    return h("li", { class: "stack-tight" }, h("span", { class: "row" }, place, h("span", null, ownWords(mistake.message))));
  }

  /** Puts the cursor to a mistake. @param {string[]} lines @param {Mistake} mistake */
  function mark(lines, mistake) {
    const before = lines.slice(0, mistake.line - 1).join("\n").length + (mistake.line > 1 ? 1 : 0);
    text.focus();
    text.setSelectionRange(before + mistake.column - 1, before + (lines[mistake.line - 1]?.length ?? 0));
  }

  async function attempt() {
    save.hidden = true;
    fill(said, h("p", { class: "loading" }, t("paste.trying")));
    const sent = body();
    try {
      const { sources } = await post("/tools/try", sent, { signal, timeout: TIMEOUT_MS });
      if (text.value !== sent.text) return void fill(said);
      fill(said, table(sources));
      save.hidden = !sources.some((/** @type {any} */ each) => each.ok);
    } catch (error) {
      fill(said);
      refused(error);
    }
  }

  async function store() {
    try {
      draw(await post("/tools", body(), { signal, timeout: TIMEOUT_MS }));
    } catch (error) {
      return refused(error);
    }
    text.value = header.value = "";
    save.hidden = authorization.hidden = true;
    fill(said);
    toast(t("paste.saved"));
    void later();
  }

  /** Reads the list again while a source starts. */
  async function later() {
    for (let times = 0; times < 20 && !signal.aborted; times += 1) {
      await new Promise((done) => setTimeout(done, 1_000));
      const found = await get("/tools", {}, signal).catch(() => null);
      if (!found) return;
      draw(found);
      if (found.sources.every((/** @type {any} */ each) => each.state !== "starting")) return;
    }
  }

  /** @param {any} found of `GET /tools` */
  function draw(found) {
    programs.textContent = found.programs ? "" : t("paste.no-programs");
    fill(list, found.sources.length ? h("ul", { class: "parts" }, ...found.sources.map(row)) : empty(t("paste.none")));
  }

  /** @param {any} source */
  function row(source) {
    const kinds = /** @type {Record<string, string>} */ ({ ok: "good", failed: "bad" });
    const act = async () => {
      await confirmed({ title: t("paste.remove", { name: source.name }), text: t("paste.remove.text"), act: t("paste.remove.act"), run: async () => {
        await remove(`/tools/${part(source.name)}`, { profile: source.profile });
        draw(await get("/tools", {}, signal));
      } });
    };
    return h("li", { class: "part", "data-added": source.name },
      h("div", { class: "row spread" },
        h("span", null, h("b", null, source.name), " ", badge(t(`paste.state.${source.state}`), kinds[source.state] ?? ""), " ",
          h("span", { class: "small muted" }, `${source.target} · ${source.profile || t("paste.all")}`)),
        button(t("paste.remove", { name: source.name }), act, { small: true, icon: "trash", iconOnly: true })),
      source.problem ? h("p", { class: "small trouble" }, ownWords(source.problem)) : null,
      source.tools.length ? h("details", null, h("summary", null, t("paste.tools", { count: source.tools.length })), tools(source.tools)) : null);
  }

  /** @param {any[]} sources of a trial */
  function table(sources) {
    return h("table", { class: "paste-results" },
      h("thead", null, h("tr", null, ...["source", "result", "call"].map((each) => h("th", { scope: "col" }, t(`paste.column.${each}`))))),
      h("tbody", null, ...sources.map((each) => h("tr", null,
        h("th", { scope: "row" }, each.name, h("div", { class: "small muted" }, each.target)),
        h("td", null, badge(t(each.ok ? "paste.works" : "paste.fails"), each.ok ? "good" : "bad"), each.ok ? h("details", { open: sources.length === 1 }, h("summary", null, t("paste.tools", { count: each.tools.length })), tools(each.tools)) : h("p", { class: "small" }, ownWords(each.problem))),
        h("td", { class: "small" }, each.called ? [h("code", null, each.called), h("p", null, ownWords(each.answer))] : each.ok ? t("paste.not-called") : "")))));
  }

  /** @param {{name: string, description: string}[]} found */
  function tools(found) {
    return h("ul", { class: "small" }, ...found.map((each) => h("li", null, h("code", null, each.name), " ", each.description)));
  }

  async function read() {
    const [found, { profiles }] = await Promise.all([get("/tools", {}, signal), get("/profiles", {}, signal)]);
    profile = select([["", t("paste.all")], ...profiles.map((/** @type {any} */ each) => /** @type {[string, string]} */ ([each.name, each.name]))], "");
    fill(whose, field(t("paste.profile"), profile, { hint: t("paste.profile.hint") }));
    draw(found);
  }

  void read().catch((error) => fill(list, error instanceof Error ? error.message : ""));
  const element = card(t("paste"), h("p", { class: "small muted" }, t("paste.about")), list, field(t("paste.text"), text), authorization, whose, programs,
    h("div", { class: "row" }, button(t("paste.try"), attempt, { icon: "play" }), save), said);
  element.dataset.part = "paste";
  return element;
}
