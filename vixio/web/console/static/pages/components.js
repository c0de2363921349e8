// The design: the tokens and components that pages are made of, on a page of their own.

import { stageBar } from "../components/bar.js";
import { badge, button, card, empty, field, notice, select, setFieldError } from "../components/controls.js";
import { confirmed } from "../components/dialog.js";
import { stateBadge } from "../components/state.js";
import { tabs } from "../components/tabs.js";
import { time } from "../components/time.js";
import { toast } from "../components/toast.js";
import { fill, h } from "../lib/dom.js";
import { addWords, t } from "../lib/i18n.js";

addWords({
  en: {
    "design.title": "Components",
    "design.text": "What the console's pages are made of. The colours and sizes stand in styles/tokens.css.",
    "design.buttons": "Buttons",
    "design.primary": "Primary",
    "design.plain": "Plain",
    "design.danger": "Danger",
    "design.icon": "Icon",
    "design.fields": "Fields",
    "design.name": "Name",
    "design.wrong": "Wrong",
    "design.hint": "A hint says what is expected.",
    "design.error": "An error says what is wrong and what to do.",
    "design.notices": "Notices",
    "design.states": "States",
    "design.turn": "A turn",
    "design.nothing": "Nothing here yet",
    "design.dialog": "Ask",
    "design.dialog.title": "Erase what Kitchen has said?",
    "design.dialog.text": "This cannot be taken back.",
    "design.tabs": "Tabs",
    "design.colours": "Colours",
  },
  zh: {
    "design.title": "组件",
    "design.text": "控制台页面所用的组件。颜色和尺寸定义在 styles/tokens.css 中。",
    "design.buttons": "按钮",
    "design.primary": "主要",
    "design.plain": "普通",
    "design.danger": "危险",
    "design.icon": "图标",
    "design.fields": "输入",
    "design.name": "名称",
    "design.wrong": "错误",
    "design.hint": "提示说明应填写的内容。",
    "design.error": "错误说明问题所在以及解决办法。",
    "design.notices": "通知",
    "design.states": "状态",
    "design.turn": "一轮对话",
    "design.nothing": "暂无内容",
    "design.dialog": "询问",
    "design.dialog.title": "清除“厨房”说过的话？",
    "design.dialog.text": "此操作无法撤销。",
    "design.tabs": "标签页",
    "design.colours": "颜色",
  },
});

const COLOURS = ["ground", "surface", "raised", "line", "text", "muted", "accent", "accent-soft", "good", "warn", "bad", "listening", "thinking", "speaking"];

/** @param {import("../app.js").PageContext} context */
export function page({ root, signal, title }) {
  title(t("design.title"));
  const wrong = h("input", { type: "text" });
  const act = () => toast(t("design.plain"));
  fill(
    root,
    h("h1", null, t("design.title")),
    h("p", { class: "muted" }, t("design.text")),
    h(
      "div",
      { class: "grid" },
      card(
        t("design.buttons"),
        h("div", { class: "row" },
          button(t("design.primary"), act, { kind: "primary", icon: "check" }),
          button(t("design.plain"), act, { icon: "edit" }),
          button(t("design.danger"), () => toast(t("design.error"), "bad"), { kind: "danger", icon: "trash" }),
          button(t("design.icon"), act, { iconOnly: true, icon: "more" })),
        h("div", { class: "row" }, button(t("design.dialog"), () => void confirmed({
          title: t("design.dialog.title"), text: t("design.dialog.text"), act: t("erase"), run: () => undefined,
        }), { small: true })),
      ),
      card(
        t("design.fields"),
        field(t("design.name"), h("input", { type: "text" }), { hint: t("design.hint") }),
        field(t("design.wrong"), wrong),
        field(t("language"), select([["en", "English"], ["zh", "中文"]])),
      ),
      card(
        t("design.notices"),
        notice("good", t("design.hint")), notice("warn", t("design.hint")), notice("bad", t("design.error")),
        h("div", { class: "row" }, badge(t("design.plain")), badge("1.9.2", "accent"), badge(t("design.danger"), "bad"), time(Date.now() - 3_600_000)),
      ),
      card(
        t("design.states"),
        ...["asleep", "reachable", "idle", "listening", "thinking", "speaking", "waiting", "blocked"].map(stateBadge),
      ),
      card(
        t("design.turn"),
        stageBar([{ name: "waited", ms: 260 }, { name: "heard", ms: 120 }, { name: "thought", ms: 1_340 }, { name: "tools", ms: 290 }, { name: "spoke", ms: 210 }]),
      ),
      card(t("design.tabs"), tabs([
        { name: "a", words: t("design.name"), draw: (panel) => fill(panel, h("p", null, t("design.hint"))) },
        { name: "b", words: t("design.nothing"), draw: (panel) => fill(panel, empty(t("design.nothing"))) },
      ], signal, { label: t("design.tabs") })),
      card(t("design.colours"), h("ul", { class: "colours" }, ...COLOURS.map((name) => {
        const sample = h("span", { class: "sample", "aria-hidden": "true" });
        sample.style.background = `var(--${name})`;
        return h("li", { class: "row" }, sample, h("code", null, `--${name}`));
      }))),
    ),
  );
  setFieldError(wrong, t("design.error"));
}
