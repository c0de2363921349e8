// Who may use the server: personal tokens, logins, the password, and who changed what.

import { badge, busy, button, card, field, setFieldError } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { time } from "../../components/time.js";
import { toast } from "../../components/toast.js";
import { ApiError, get, part, post, remove } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { dateTime } from "../../lib/format.js";
import { listed, t } from "../../lib/i18n.js";
import { drawAudit, readAudit } from "./audit.js";
import { reading } from "./reading.js";
import { tokens } from "./tokens.js";

const SHORTEST = 10; // characters of a password, as the server has it
const LONGEST = 256;

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export function access(panel, signal) {
  const tokenPlace = h("div", { class: "stack" });
  const loginPlace = h("div", { class: "stack" });
  const trail = h("div");
  fill(
    panel,
    card(t("server.tokens"), tokenPlace),
    card(t("server.logins"), loginPlace),
    card(t("server.password"), passwordForm(() => logins())),
    card(t("server.audit"), h("p", { class: "hint" }, t("server.audit.hint")), trail),
  );
  const readTokens = tokens(tokenPlace, signal);
  const logins = () => reading(loginPlace, signal, () => get("/logins", {}, signal), (found) => drawLogins(loginPlace, found.logins, logins));
  const audit = () => reading(trail, signal, () => readAudit(signal), (found) => drawAudit(trail, found));
  void logins();
  void audit();

  // Several changes at once are read once.
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let planned;
  let ofTokens = false;
  signal.addEventListener("abort", () => clearTimeout(planned), { once: true });
  watch(signal, (event) => {
    if (event.type !== "changed") return;
    ofTokens ||= event.about === "api-token" || event.about === "api-user";
    planned ??= setTimeout(again, 500);
  }, () => {
    ofTokens = true;
    planned ??= setTimeout(again, 500);
  });

  function again() {
    planned = undefined;
    void audit();
    if (ofTokens) void Promise.all([logins(), readTokens()]);
    ofTokens = false;
  }
}

/** @param {HTMLElement} place @param {any[]} found @param {() => Promise<void>} again */
function drawLogins(place, found, again) {
  const others = found.filter((each) => !each.current);
  fill(
    place,
    h("ul", { class: "entries" }, ...found.map((each) =>
      h("li", { class: "entry", "data-login": each.id },
        h("div", { class: "grow" },
          h("p", { class: "row" }, h("b", null, browser(each.user_agent)), each.current ? badge(t("server.logins.current"), "accent") : null),
          h("p", { class: "small muted" }, each.address ? `${each.address} · ` : "",
            t("server.logins.since"), " ", time(each.created_at), " · ", t("server.used"), " ", time(each.used_at ?? 0), " · ", t("server.until", { when: dateTime(each.expires_at) }))),
        each.current ? null : button(t("server.logins.end"), () => endOne(each), { kind: "danger", small: true })))),
    others.length > 1 ? h("div", null, button(t("server.logins.end-all"), endAll, { kind: "danger" })) : null,
  );

  /** @param {any} login */
  function endOne(login) {
    return confirmed({
      title: t("server.logins.end.title", { name: browser(login.user_agent) }),
      text: t("server.logins.end.text", { when: dateTime(login.created_at), address: login.address || t("server.unknown") }),
      act: t("server.logins.end"),
      run: async () => {
        await remove(`/logins/${part(login.id)}`);
        toast(t("server.logins.ended"));
        await again();
      },
    });
  }

  function endAll() {
    return confirmed({
      title: t("server.logins.end-all.title", { count: others.length }),
      text: listed(others.map((each) => browser(each.user_agent))),
      act: t("server.logins.end-all"),
      run: async () => {
        const results = await Promise.allSettled(others.map((each) => remove(`/logins/${part(each.id)}`)));
        await again();
        const failed = results.find((each) => each.status === "rejected" && each.reason.status !== 404); // 404: it is over
        if (failed) throw /** @type {PromiseRejectedResult} */ (failed).reason;
        toast(t("server.logins.ended"));
      },
    });
  }
}

/** A browser and its system, as far as they can be told. @param {string} agent */
function browser(agent) {
  const name = [["Edg", "Edge"], ["Firefox", "Firefox"], ["Chrome", "Chrome"], ["Safari", "Safari"], ["curl", "curl"]].find(([key]) => agent.includes(`${key}/`))?.[1];
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"].find((each) => agent.includes(each));
  return [name ?? (agent.split(/[ /]/, 1)[0] || t("server.unknown")), system].filter(Boolean).join(" · ");
}

/** @param {() => Promise<void>} after */
function passwordForm(after) {
  const old = h("input", { type: "password", autocomplete: "current-password", required: true });
  const next = h("input", { type: "password", autocomplete: "new-password", required: true, minLength: SHORTEST, maxLength: LONGEST });
  const again = h("input", { type: "password", autocomplete: "new-password", required: true });
  const send = button(t("server.password.act"), null, { type: "submit", kind: "primary" });
  const form = h(
    "form",
    { class: "password-form" },
    h("input", { type: "text", autocomplete: "username", value: "admin", hidden: true }),
    field(t("server.password.old"), old),
    field(t("server.password.new"), next, { hint: t("server.password.hint", { count: SHORTEST }) }),
    field(t("server.password.again"), again),
    h("p", { class: "hint" }, t("server.password.text")),
    h("div", null, send),
  );
  again.addEventListener("input", () => setFieldError(again, ""));
  old.addEventListener("input", () => setFieldError(old, ""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (again.value === next.value) return void busy(send, change);
    setFieldError(again, t("server.password.differs"));
    again.focus();
  });
  return form;

  async function change() {
    try {
      await post("/password", { old: old.value, new: next.value });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 403) throw error;
      setFieldError(old, error.message);
      return old.select();
    }
    form.reset();
    toast(t("server.password.changed"));
    await after();
  }
}
