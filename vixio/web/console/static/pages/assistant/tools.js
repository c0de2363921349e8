// Tools of the house: Home Assistant and MCP servers, each with its list of tools and switches.

import { badge, button, empty, field, setFieldError } from "../../components/controls.js";
import { openDialog } from "../../components/dialog.js";
import { fill, h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { ownWords } from "../../lib/problems.js";
import { hostOf } from "./parts.js";
import { KEPT, stop } from "./service.js";
import { tried } from "./trial.js";

const HOME = "home";

/** Of Home Assistant's integration "Model Context Protocol Server"; the second of older versions. */
const HOME_PATHS = ["/api/mcp", "/mcp_server/sse"];

/** Names that other sources of tools have. */
const TAKEN = ["local", "builtin", "rest", "openapi", "broker", "device", "tools"];

/**
 * @typedef {object} ToolsOptions
 * @property {() => Record<string, any>} servers those that may be changed
 * @property {Record<string, any>} others those that the settings file fixes, by name
 * @property {Record<string, string>} fixed places in the file
 * @property {(servers: Record<string, any>) => any} content what a trial is made with
 * @property {(servers: Record<string, any>) => void} change
 * @property {string} home the usual address of Home Assistant
 * @property {Map<string, string[]>} listed tools by the name of the server
 * @property {boolean} editable @property {AbortSignal} signal
 */

/** The servers with their tools, and what adds one. @param {ToolsOptions} options */
export function toolsForm(options) {
  const place = h("div", { class: "stack" });
  const draw = () => {
    const held = /** @type {HTMLElement | null} */ (place.contains(document.activeElement) ? document.activeElement : null)?.dataset.key;
    const open = new Set([...place.querySelectorAll("details[open]")].map((each) => /** @type {HTMLElement} */ (each).dataset.source));
    const servers = options.servers();
    const names = Object.keys(servers);
    fill(
      place,
      names.length || Object.keys(options.others).length
        ? h("ul", { class: "parts" },
          ...Object.entries(options.others).map(([name, server]) => row(name, server, false, open)),
          ...names.map((name) => row(name, servers[name], options.editable, open)))
        : empty(t("assistant.tools.none")),
      options.editable
        ? h("div", { class: "row" },
          button(t("assistant.tools.home"), () => add(true), { icon: "plus" }),
          button(t("assistant.tools.mcp"), () => add(false), { icon: "plus" }))
        : null,
    );
    if (held) /** @type {HTMLElement | undefined} */ ([...place.querySelectorAll("[data-key]")].find((each) => /** @type {HTMLElement} */ (each).dataset.key === held))?.focus();
  };

  /** @param {string} name @param {any} server */
  const put = (name, server) => {
    const servers = { ...options.servers() };
    if (server) servers[name] = server;
    else delete servers[name];
    options.change(servers);
    draw();
  };

  /** @param {string} name @param {any} server @param {boolean} editable @param {Set<string | undefined>} open */
  function row(name, server, editable, open) {
    const on = h("input", {
      type: "checkbox", "data-key": name, checked: server.enabled !== false, disabled: !editable,
      onchange: () => put(name, { ...server, enabled: on.checked }),
    });
    const place = options.fixed[`mcp_servers.${name}`];
    return h("li", { class: "part", "data-source": name },
      h("div", { class: "row spread" },
        h("label", { class: "check" }, on, h("span", null, h("b", null, name), " ", h("span", { class: "small muted" }, server.url ? hostOf(server.url) : server.command))),
        editable
          ? h("div", { class: "row" },
            button(t("assistant.change"), () => change(name, server), { small: true, icon: "edit" }),
            button(t("assistant.tools.remove", { name }), () => put(name, null), { small: true, icon: "trash", iconOnly: true }))
          : null),
      place ? h("p", { class: "small muted" }, badge(t("assistant.fixed")), " ", h("span", { class: "mono" }, place)) : null,
      switches(name, server, editable, open));
  }

  /** @param {string} name @param {any} server @param {boolean} editable @param {Set<string | undefined>} open */
  function switches(name, server, editable, open) {
    const off = /** @type {string[]} */ (server.deny ?? []);
    const listed = options.listed.get(name);
    if (!listed) return editable ? h("div", { class: "row" }, button(t("assistant.tools.list"), () => list(name, server), { small: true })) : null;
    const tools = [...new Set([...listed, ...off])].sort();
    /** @param {string} tool @param {boolean} wanted */
    const turn = (tool, wanted) => put(name, { ...server, deny: wanted ? off.filter((each) => each !== tool) : [...off, tool] });
    return h("details", { "data-source": name, open: open.has(name) },
      h("summary", null, t("assistant.tools.count", { count: tools.length - tools.filter((each) => off.includes(each)).length, total: tools.length })),
      h("ul", { class: "switches" }, ...tools.map((tool) => {
        const check = h("input", { type: "checkbox", "data-key": `${name} ${tool}`, checked: !off.includes(tool), disabled: !editable, onchange: () => turn(tool, check.checked) });
        return h("li", null, h("label", { class: "check" }, check, h("span", { class: "mono" }, tool)));
      })));
  }

  /** Has a server list its tools. @param {string} name @param {any} server */
  async function list(name, server) {
    const result = await tried(`mcp_servers.${name}`, options.content({ ...options.servers(), [name]: server }), options.signal);
    if (!result.ok) throw new Error(ownWords(result.detail));
    options.listed.set(name, result.tools);
    draw();
  }

  /** @param {boolean} home */
  const add = (home) => ask(home, home ? free(HOME) : "", { url: home ? options.home : "" });

  /** @param {string} name @param {any} server */
  const change = (name, server) => ask(Boolean(server.headers?.Authorization) && /api\/mcp|mcp_server/.test(server.url), name, server);

  /** @param {boolean} home @param {string} known its name; empty: from its address @param {any} server */
  async function ask(home, known, server) {
    const url = h("input", { type: "url", required: true, autocomplete: "off", spellcheck: false, value: server.url ?? "", maxLength: 500 });
    const token = h("input", { type: "password", autocomplete: "off", spellcheck: false, maxLength: 1_000, required: home && !server.headers });
    const kept = server.headers?.Authorization ? ` ${t("assistant.key.kept")}` : "";
    await openDialog(
      { title: t(home ? "assistant.tools.home" : "assistant.tools.mcp"), act: t("assistant.tools.try"), run },
      home ? h("p", { class: "small muted" }, t("assistant.tools.home.text")) : null,
      field(t(home ? "assistant.tools.home.url" : "assistant.tools.mcp.url"), url),
      field(t(home ? "assistant.tools.home.token" : "assistant.tools.mcp.token"), token, { hint: t(home ? "assistant.tools.home.token.hint" : "assistant.tools.mcp.token.hint") + kept }),
    );

    async function run() {
      setFieldError(url, "");
      setFieldError(token, "");
      const root = url.value.trim().replace(/\/+$/, "");
      const name = known || free(nameFrom(root));
      const authorization = token.value.trim() ? `Bearer ${token.value.trim()}` : server.headers?.Authorization;
      const headers = authorization ? { headers: { ...server.headers, Authorization: authorization } } : {};
      const addresses = home && new URL(root).pathname === "/" ? HOME_PATHS.map((path) => root + path) : [root];
      let failed = null;
      for (const address of addresses) {
        const section = { ...server, url: address, ...headers };
        const result = await tried(`mcp_servers.${name}`, options.content({ ...options.servers(), [name]: section }), options.signal);
        if (result.ok) {
          options.listed.set(name, result.tools);
          return put(name, section);
        }
        failed ??= result;
      }
      const refused = /\b40[13]\b/.test(failed?.detail ?? "");
      const words = t(refused ? "assistant.tools.refused" : home ? "assistant.tools.home.off" : "assistant.tools.off", { detail: ownWords(failed?.detail ?? "") });
      const control = refused ? token : url;
      setFieldError(control, words);
      control.focus();
      throw stop();
    }
  }

  /** @param {string} wanted */
  function free(wanted) {
    const taken = [...Object.keys(options.servers()), ...Object.keys(options.others), ...TAKEN];
    let name = wanted;
    for (let number = 2; taken.includes(name); number += 1) name = `${wanted}-${number}`;
    return name;
  }

  draw();
  return { element: place, draw };
}

/** A name for a source, from its address. @param {string} url */
function nameFrom(url) {
  const host = hostOf(url).split(":")[0];
  return host.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[-_]+|[-_]+$/g, "").slice(0, 40) || "tools";
}

/** Servers as a closed browser may keep them: without what is secret. @param {Record<string, any>} servers */
export function withoutTokens(servers) {
  return Object.fromEntries(Object.entries(servers).filter(([, each]) => Object.values(each.headers ?? {}).every((value) => value === KEPT)));
}
