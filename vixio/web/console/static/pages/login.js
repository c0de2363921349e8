// The login, and the way in for somebody who only wants to talk.

import { button, busy, field, setFieldError } from "../components/controls.js";
import { icon } from "../components/icon.js";
import { ApiError, get, post } from "../lib/api.js";
import { fill, find, h, setText } from "../lib/dom.js";
import { addWords, t } from "../lib/i18n.js";
import { go, href } from "../lib/router.js";
import { login, setLogin } from "../lib/session.js";

addWords({
  en: {
    "login.title": "Sign in",
    "login.password": "Password",
    "login.hint": "The command vixio console prints a link that signs in without it. The server made a password at its first start: it is in the file api_password in its data folder. The command vixio api-password sets another one.",
    "login.file": "The password is in {file}; the command vixio api-password sets another one. The command vixio console prints a link that signs in without it.",
    "login.talk": "Just talk",
    "login.talk.text": "Try the assistant with this browser, without signing in.",
  },
  zh: {
    "login.title": "登录",
    "login.password": "密码",
    "login.hint": "命令 vixio console 会给出一个免密码登录的链接。服务器首次启动时会生成密码，保存在数据文件夹的 api_password 文件中。可用命令 vixio api-password 重新设置。",
    "login.file": "密码保存在 {file}，可用命令 vixio api-password 重新设置。命令 vixio console 会给出一个免密码登录的链接。",
    "login.talk": "直接对话",
    "login.talk.text": "无需登录，用此浏览器试用语音助手。",
  },
});

/** @param {import("../app.js").PageContext} context */
export function page({ root, query, title }) {
  title(t("login.title"));
  const after = () => go((query.get("to") ?? "").split("?")[0].split("/").filter(Boolean).map(decodeURIComponent), {}, { replace: true });
  if (login()) return after();
  const password = h("input", { type: "password", name: "password", autocomplete: "current-password", required: true });
  const user = h("input", { type: "text", name: "username", autocomplete: "username", value: "admin", hidden: true });
  const send = button(t("sign-in"), null, { kind: "primary", type: "submit" });
  const form = h(
    "form",
    {
      class: "login-form",
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        setFieldError(password, "");
        await busy(send, async () => {
          try {
            setLogin(await post("/login", { password: password.value }));
          } catch (error) {
            if (!(error instanceof ApiError)) throw error;
            setFieldError(password, error.message);
            password.select();
            return;
          }
          after();
        });
      },
    },
    user,
    field(t("login.password"), password, { hint: t("login.hint") }),
    send,
  );
  fill(
    root,
    h(
      "div",
      { class: "login" },
      h("h1", null, t("login.title")),
      form,
      h("hr"),
      h("p", null, t("login.talk.text")),
      h("a", { class: "button plain", href: href(["talk"]) }, icon("talk"), h("span", null, t("login.talk"))),
    ),
  );
  password.focus();
  void showFile().catch(() => undefined); // the hint says it in general
  if (query.get("link")) void follow();

  async function showFile() {
    const { password_file: file } = await get("/login");
    if (file) setText(find(form, ".hint"), t("login.file", { file }));
  }

  async function follow() {
    const link = query.get("link") ?? "";
    history.replaceState(null, "", href(["login"])); // it is void now
    try {
      setLogin(await post("/login/link", { link }));
      after();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setFieldError(password, error.message);
    }
  }
}
