// Drawings of the steps, with the words of the device's own set-up page.

import { svg } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";

/** @param {string} d @param {string} [kind] */
const line = (d, kind = "") => svg("path", { d, class: `drawn ${kind}` });

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} [kind] @param {number} [rx] */
const box = (x, y, width, height, kind = "", rx = 6) => svg("rect", { x, y, width, height, rx, class: `drawn ${kind}` });

/** @param {number} x @param {number} y @param {string} words @param {string} [kind] */
function text(x, y, words, kind = "") {
  const element = svg("text", { x, y, class: `drawn ${kind}` });
  element.textContent = words;
  return element;
}

/** A device with a face or words on its screen. @param {number} x @param {...SVGElement} screen at 0 0, 60 wide, 40 high */
function device(x, ...screen) {
  return svg("g", { transform: `translate(${x} 46)` },
    box(0, 0, 76, 88, "", 14), box(8, 10, 60, 40, "screen", 4),
    line("M26 66h24M26 73h24M26 80h24", "fine"),
    svg("g", { transform: "translate(8 10)" }, ...screen));
}

const face = () => line("M19 14v5M41 14v5M20 27q10 7 20 0", "on-screen");

/** A phone that shows the set-up page. @param {number} tab which of its two is shown @param {...SVGElement} content */
function setUpPage(tab, ...content) {
  const half = [text(62, 42, t("add.page.wifi"), tab === 0 ? "small middle strong" : "small middle"), text(158, 42, t("add.page.advanced"), tab === 1 ? "small middle strong" : "small middle")];
  return svg("g", { transform: "translate(10 6)" },
    box(0, 0, 220, 168, "paper", 10), text(110, 17, "192.168.4.1", "small middle muted"), line("M0 24h220", "fine"),
    ...half, line(tab === 0 ? "M18 50h88" : "M114 50h88", "tab"), ...content);
}

/** @param {number} y @param {string} words @param {boolean} [pressed] */
function bar(y, words, pressed = true) {
  return svg("g", {}, box(16, y, 188, 24, pressed ? "press" : "", 5), text(110, y + 16, words, "small middle on-press"));
}

/** @type {Record<string, () => SVGElement[]>} */
const DRAWINGS = {
  network: () => [
    device(14, text(30, 17, "Wi-Fi", "tiny middle on-screen"), text(30, 30, "Xiaozhi-1A2B", "tiny middle on-screen")),
    line("M104 76a20 20 0 0 1 0 28M113 68a32 32 0 0 1 0 44", "accent"),
    box(138, 8, 94, 164, "paper", 12), text(185, 34, "Wi-Fi", "small middle strong"), line("M138 44h94", "fine"),
    text(148, 64, t("add.page.home-network"), "small muted"), box(142, 76, 86, 24, "chosen", 5),
    text(148, 92, "Xiaozhi-1A2B", "small"), line("M148 118h56M148 136h40", "fine"),
  ],
  address: () => [setUpPage(1,
    text(16, 72, t("add.page.ota"), "small muted"), box(16, 78, 188, 26, "chosen", 5),
    text(22, 95, "…/xiaozhi/ota/", "small"), bar(126, t("add.page.save")))],
  wifi: () => [setUpPage(0,
    text(16, 68, "SSID:", "small muted"), box(16, 73, 188, 20, "", 5), text(22, 87, t("add.page.home-network"), "small"),
    text(16, 106, t("add.page.password"), "small muted"), box(16, 111, 188, 20, "", 5), text(22, 125, "••••••••", "small"),
    bar(138, t("add.page.connect")))],
  code: () => [
    device(14, text(30, 25, "482913", "middle digits strong on-screen")),
    line("M102 90h22m-7-7l7 7-7 7", "accent"),
    box(134, 56, 96, 72, "paper", 8), text(144, 76, t("add.code"), "small muted"), box(144, 84, 76, 28, "chosen", 5), text(182, 103, "482913", "middle strong"),
  ],
  hello: () => [
    device(14, face()),
    box(112, 34, 118, 44, "chosen", 12), line("M126 78l-14 16 30-16", "chosen"), text(171, 61, t("add.page.hello"), "small middle"),
  ],
};

/** A drawing of a step; what it shows stands in words beside it. @param {string} name */
export function picture(name) {
  return svg("svg", { viewBox: "0 0 240 180", class: "add-picture", "aria-hidden": "true", focusable: "false" }, ...DRAWINGS[name]());
}
