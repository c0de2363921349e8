// Firmware: images that were uploaded, to whom they are released, and what became of the offers.

import { badge, button, busy, card, empty, field } from "../../components/controls.js";
import { confirmed } from "../../components/dialog.js";
import { fileField } from "../../components/file.js";
import { toast } from "../../components/toast.js";
import { get, part, post, remove, request } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { watch } from "../../lib/feed.js";
import { bytes, dateTime, number } from "../../lib/format.js";
import { listed, t } from "../../lib/i18n.js";
import { ATTEMPT_KINDS, attempts, attemptState } from "./attempts.js";
import { reading } from "./reading.js";
import { releaseDialog } from "./release.js";

const UPLOAD_MS = 60_000;

/** @param {HTMLElement} panel @param {AbortSignal} signal */
export function firmware(panel, signal) {
  const place = h("div", { class: "stack" });
  const offers = h("div");
  const read = () => reading(place, signal, () => get("/firmware", {}, signal), (found) => draw(place, found.images, read));
  fill(
    panel,
    card(t("server.upload"), uploadForm(read)),
    card(t("server.images"), place),
    card(t("server.attempts"), offers),
  );
  void read();
  const offered = attempts(offers, signal);

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let planned;
  signal.addEventListener("abort", () => clearTimeout(planned), { once: true });
  const plan = () => {
    planned ??= setTimeout(() => {
      planned = undefined;
      void read();
    }, 500);
  };
  watch(signal, (event) => {
    if (event.type === "changed" && event.about === "firmware") plan();
    if (!event.type.startsWith("firmware.")) return;
    offered.receive(event);
    if (event.type !== "firmware.download") plan(); // how many devices have it
  }, () => {
    plan();
    void offered.read();
  });
}

/** @param {() => Promise<void>} after */
function uploadForm(after) {
  const file = h("input", { type: "file", accept: ".bin,application/octet-stream", required: true });
  const board = h("input", { type: "text", maxLength: 64, autocomplete: "off" });
  const send = button(t("server.upload.act"), null, { type: "submit", kind: "primary", icon: "upload" });
  const form = h(
    "form",
    {
      class: "stack",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void busy(send, async () => {
          const chosen = /** @type {File} */ (file.files?.[0]);
          const upload = new Blob([chosen], { type: "application/octet-stream" });
          const found = await request("POST", "/firmware/images", { upload, query: { board: board.value.trim() }, timeout: UPLOAD_MS });
          toast(t("server.upload.done", { version: found.version, board: found.board }));
          form.reset();
          await after();
        });
      },
    },
    h("div", { class: "grid" },
      fileField(t("server.upload.file"), file, { hint: t("server.upload.hint") }),
      field(t("server.upload.board"), board, { hint: t("server.upload.board.hint") })),
    h("div", null, send),
  );
  return form;
}

/** @param {HTMLElement} place @param {any[]} images @param {() => Promise<void>} again */
function draw(place, images, again) {
  if (!images.length) return fill(place, empty(t("server.images.none")));
  /** @type {Map<string, any[]>} */
  const boards = new Map();
  for (const each of images) boards.set(each.board, [...(boards.get(each.board) ?? []), each]);
  fill(place, ...[...boards].map(([board, found]) =>
    h("section", { class: "stack", "aria-label": board },
      h("h3", { class: "mono" }, board),
      h("ul", { class: "entries" }, ...found.map((each) => entry(each, again))))));
}

/** @param {any} image @param {() => Promise<void>} again */
function entry(image, again) {
  const { release } = image;
  const path = `/firmware/${part(image.board)}/${part(image.version)}`;
  const names = { version: image.version, board: image.board };
  return h("li", { class: "entry image", "data-version": image.version },
    h("div", { class: "grow" },
      h("p", { class: "row" }, h("b", { class: "mono" }, image.version), releaseLabel(release), release?.forced ? badge(t("server.release.forced"), "warn") : null),
      h("p", { class: "small muted" }, [
        image.chip, image.size === null ? "" : bytes(image.size), image.sha256 ? `SHA-256 ${image.sha256.slice(0, 12)}…` : "",
        release ? t("server.release.at", { when: dateTime(release.released_at) }) : "",
      ].filter(Boolean).join(" · ")),
      image.fault ? h("p", { class: "small trouble" }, image.fault) : null,
      release?.devices.length ? h("p", { class: "small mono" }, release.devices.slice(0, 20).join(", "), release.devices.length > 20 ? " …" : "") : null,
      h("p", { class: "row" }, ...Object.entries(image.counts).map(([state, count]) =>
        badge(`${attemptState(state)}: ${number(/** @type {number} */ (count))}`, ATTEMPT_KINDS[state] ?? "")))),
    h("div", { class: "row" },
      image.fault ? null : button(t(release ? "server.release.change" : "server.release"), () => releaseDialog(image, path, again), { small: true }),
      release
        ? release.paused
          ? button(t("server.resume"), () => ask("resume", false, () => post(`${path}/resume`)), { small: true, icon: "play" })
          : button(t("server.pause"), () => ask("pause", false, () => post(`${path}/pause`)), { small: true, icon: "pause" })
        : null,
      button(t("remove"), () => ask("remove", true, () => remove(path)), { small: true, kind: "danger", icon: "trash" })));

  /** @param {string} what @param {boolean} danger @param {() => Promise<any>} run */
  function ask(what, danger, run) {
    return confirmed({
      title: t(`server.${what}.title`, names),
      text: t(`server.${what}.text`),
      act: what === "remove" ? t("remove") : t(`server.${what}`),
      danger,
      run: async () => {
        await run();
        await again();
      },
    });
  }
}

/** @param {any} release */
function releaseLabel(release) {
  if (!release) return badge(t("server.release.none"));
  const to = listed([
    release.percent ? t("server.release.percent", { percent: number(release.percent, { maximumFractionDigits: 2 }) }) : "",
    release.devices.length ? t("server.release.devices", { count: release.devices.length }) : "",
  ].filter(Boolean));
  return release.paused ? badge(t("server.release.paused", { to }), "warn") : badge(t("server.release.to", { to }), "good");
}
