// The address that is entered on a device: to be copied, or read with a phone.

import { fetchApi } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { copyButton } from "./copy.js";

/** @param {string} url @param {AbortSignal} signal */
export function otaAddress(url, signal) {
  const picture = h("img", { class: "qr", alt: t("ota.qr"), width: 148, height: 148 });
  fetchApi("GET", "/server/ota-qr.svg", { signal }).then(async (response) => {
    const blob = URL.createObjectURL(await response.blob());
    picture.onload = picture.onerror = () => URL.revokeObjectURL(blob);
    picture.src = blob;
  }).catch(() => picture.remove()); // the address stands beside it
  return h("div", { class: "stack" },
    h("code", { class: "ota" }, url),
    h("div", { class: "row" }, picture, copyButton(() => url)));
}

/** Whether an address means the computer that the server is on, to whoever follows it. @param {string} url */
export function onlyHere(url) {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
