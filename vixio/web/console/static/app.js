// The shell: navigation, the page that the address names, and what holds for all of them.

import "./words/common.js";
import { button, notice, select } from "./components/controls.js";
import { icon } from "./components/icon.js";
import { get, post } from "./lib/api.js";
import { fill, find, h } from "./lib/dom.js";
import { feedState, onFeedState, startFeed } from "./lib/feed.js";
import { language, locale, setLanguage, t } from "./lib/i18n.js";
import { go, href, onPlace, place } from "./lib/router.js";
import { login, onLogin, setLogin } from "./lib/session.js";
import { applyTheme, setTheme, theme } from "./lib/theme.js";
import { helpOf, ROUTES, routeOf } from "./routes.js";

/** @typedef {import("./routes.js").Route} Route */

/**
 * What a page is given. `signal` ends when another page is shown: listeners, requests and timers of
 * the page end with it. `root` is where the page stands; `title` names it to the browser.
 *
 * @typedef {object} PageContext
 * @property {HTMLElement} root
 * @property {string[]} path what follows the page's name in the address
 * @property {URLSearchParams} query
 * @property {AbortSignal} signal
 * @property {(words: string) => void} title
 */

const main = h("main", { id: "main", tabIndex: -1 });
const side = h("div", { class: "side" });
const status = h("p", { class: "feed-status", role: "status" });

let leaving = new AbortController();
let shownAt = "";

applyTheme();
document.documentElement.lang = locale();
drawShell();
startFeed();
onLogin(show);
onPlace(() => {
  shownAt = ""; // a page may have changed the address without being opened anew
  show();
});
onFeedState(drawStatus);
show();

function drawShell() {
  document.body.replaceChildren(
    h("a", { class: "skip", href: "#main", onclick: skip }, t("skip")),
    h("div", { class: "shell" }, side, h("div", { class: "column" }, status, main)),
  );
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault(); // the address behind # is the page
  main.focus();
}

function drawSide() {
  const shown = place().path[0] ?? "";
  const here = routeOf(shown)?.within ?? shown;
  const signedIn = login() !== null;
  const links = ROUTES.filter((route) => route.icon && (signedIn || route.open)).map((route) =>
    h(
      "a",
      { href: href([route.name]), class: "nav-link", "aria-current": route.name === here ? "page" : null },
      icon(/** @type {import("./components/icon.js").IconName} */ (route.icon)),
      h("span", null, t(`nav.${route.name}`)),
    ),
  );
  const languages = select([["en", "English"], ["zh", "中文"]], language(), {
    "aria-label": t("language"),
    onchange: () => {
      setLanguage(/** @type {import("./lib/i18n.js").Language} */ (languages.value));
      drawShell();
      shownAt = "";
      show();
    },
  });
  const themes = select(
    [["system", t("theme.system")], ["light", t("theme.light")], ["dark", t("theme.dark")]],
    theme(),
    {
      "aria-label": t("theme"),
      onchange: () => setTheme(/** @type {import("./lib/theme.js").Theme} */ (themes.value)),
    },
  );
  fill(
    side,
    h("a", { href: href([signedIn ? "home" : "talk"]), class: "brand" }, h("span", { class: "logo", "aria-hidden": "true" }), "Vixio"),
    h("nav", { "aria-label": t("nav.label") }, ...links),
    h(
      "div",
      { class: "preferences" },
      languages,
      themes,
      signedIn
        ? button(t("sign-out"), signOut, { icon: "out" })
        : h("a", { href: href(["login"]), class: "button plain" }, icon("person"), h("span", null, t("sign-in"))),
    ),
  );
  const bar = find(side, "nav"); // that of a phone scrolls
  const now = /** @type {HTMLElement | null} */ (bar.querySelector("[aria-current]"));
  // scrollIntoView would have the next Tab go on from there, and not from the top of the page.
  if (now) bar.scrollLeft = now.offsetLeft - (bar.clientWidth - now.clientWidth) / 2;
}

async function signOut() {
  try {
    await post("/logout");
  } finally {
    setLogin(null);
  }
}

function drawStatus() {
  const state = feedState();
  status.dataset.state = state;
  const words = state === "waiting" ? t("feed.waiting") : "";
  if (status.textContent !== words) status.textContent = words;
}

/** Shows the page that the address names, or the login. */
function show() {
  const { path, query } = place();
  const route = routeOf(path[0] ?? "");
  const signedIn = login() !== null;
  if (!path.length) return void land(signedIn);
  if (route && !route.open && !signedIn) {
    return go(["login"], { to: location.hash.slice(1) }, { replace: true });
  }
  drawSide();
  drawStatus();
  const at = `${location.hash} ${signedIn}`;
  if (at === shownAt) return;
  shownAt = at;
  void open(route, path.slice(1), query);
}

/** Shows the first page: on a fresh server the one that sets it up. @param {boolean} signedIn */
async function land(signedIn) {
  if (!signedIn) return go(["login"], {}, { replace: true });
  const { set_up: ready, editable } = await get("/assistant").catch(() => ({ set_up: true, editable: false }));
  if (!place().path.length) go(editable && !ready ? ["assistant", "setup"] : ["home"], {}, { replace: true });
}

/** @param {Route | undefined} route @param {string[]} path @param {URLSearchParams} query */
async function open(route, path, query) {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const root = h("div", { class: `page page-${route?.name ?? "missing"}` });
  const title = (/** @type {string} */ words) => {
    if (!signal.aborted) document.title = `${words} · Vixio`;
  };
  if (!route) {
    title(t("page.missing"));
    fill(root, h("h1", null, t("page.missing")), h("p", null, t("page.missing.text")));
    return put(root);
  }
  try {
    const { page } = await route.load();
    if (signal.aborted) return;
    put(root);
    await page({ root, path, query, signal, title });
  } catch (error) {
    if (signal.aborted) return;
    console.warn(error);
    const reload = button(t("page.reload"), () => location.reload(), { icon: "refresh" });
    fill(root, h("h1", null, t("page.failed")), notice("bad", h("p", null, t("page.failed.text")), reload));
    put(root);
  }
}

/** The link to what the documentation says of the page. Tabs change the address: it is read again before a click. */
function help() {
  const aim = () => { link.href = helpOf(place().path); };
  const link = h(
    "a",
    { class: "help", target: "_blank", hreflang: "en", title: t("help.title"), onpointerenter: aim, onfocus: aim },
    t("help"),
  );
  aim();
  return link;
}

/** @param {HTMLElement} root */
function put(root) {
  const before = main.firstElementChild;
  fill(main, help(), root);
  if (before) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true }); // a screen reader goes on at the new page
  }
}

