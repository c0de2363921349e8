// To whom an image is offered: a part of the devices of its board, single ones, or both.

import { field } from "../../components/controls.js";
import { openDialog } from "../../components/dialog.js";
import { toast } from "../../components/toast.js";
import { get, put } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";
import { deviceLabel } from "../../lib/names.js";

const MOST = 1_000; // devices that the server lists at a time

/** @param {any} image @param {string} path @param {() => Promise<void>} again */
export async function releaseDialog(image, path, again) {
  const { devices } = await get("/devices", { search: image.board, limit: MOST });
  const listed = new Set(/** @type {string[]} */ (image.release?.devices ?? []));
  const fitting = devices.filter((/** @type {any} */ each) => each.board === image.board && !listed.has(each.id));
  const names = new Map(/** @type {[string, string][]} */ (devices.map((/** @type {any} */ each) => [each.id, each.name && deviceLabel(each, devices)])));
  const boxes = [...listed, ...fitting.map((/** @type {any} */ each) => each.id)].map((id) =>
    h("input", { type: "checkbox", value: id, checked: listed.has(id) }));
  const percent = h("input", { type: "number", min: "0", max: "100", step: "any", required: true, value: String(image.release?.percent ?? 0) });
  const force = h("input", { type: "checkbox", checked: Boolean(image.release?.forced) });
  const retry = h("input", { type: "checkbox" });
  await openDialog(
    {
      title: t("server.release.title", { version: image.version, board: image.board }),
      act: t("server.release.act"),
      run: async () => {
        await put(`${path}/release`, {
          percent: Number(percent.value),
          devices: boxes.filter((each) => each.checked).map((each) => each.value),
          force: force.checked,
          retry: retry.checked,
        });
        toast(t("server.release.done", { version: image.version }));
        await again();
      },
    },
    field(t("server.release.share"), percent, { hint: t("server.release.share.hint") }),
    boxes.length
      ? h("fieldset", { class: "scopes" }, h("legend", null, t("server.release.which")), ...boxes.map((box) =>
        h("label", { class: "check" }, box, h("span", { title: box.value }, names.get(box.value) || t("server.unnamed"), " ", names.get(box.value) ? null : h("code", null, box.value)))))
      : h("p", { class: "hint" }, t("server.release.no-devices", { board: image.board })),
    h("label", { class: "check" }, force, h("span", null, t("server.release.force"))),
    h("label", { class: "check" }, retry, h("span", null, t("server.release.retry"))),
  );
}
