// A picture for the screen of a device: chosen, scaled here, and sent.

import { button } from "../../components/controls.js";
import { fileField } from "../../components/file.js";
import { toast } from "../../components/toast.js";
import { request } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { t } from "../../lib/i18n.js";

const TIMEOUT_MS = 65_000;

/** Pixels of the longer side: as much as most screens show, and well below the 512 KB that a device takes. */
const SIDE = 320;

/** @param {import("../device.js").DeviceContext} context */
export function picture(context) {
  const file = h("input", { type: "file", accept: "image/*" });
  return [
    fileField(t("device.picture"), file, { hint: t("device.picture.hint") }),
    h("div", null, button(t("device.picture.show"), async () => {
      const chosen = file.files?.[0];
      if (!chosen) throw new Error(t("device.picture.none"));
      await request("POST", `${context.path}/picture`, { upload: await toPng(chosen), timeout: TIMEOUT_MS });
      toast(t("device.picture.shown"));
    }, { small: true, icon: "screen" })),
  ];
}

/** The picture of a file, as devices read it. @param {File} file @returns {Promise<Blob>} a PNG */
async function toPng(file) {
  const image = await createImageBitmap(file).catch(() => {
    throw new Error(t("device.picture.unreadable"));
  });
  const scale = Math.min(1, SIDE / Math.max(image.width, image.height));
  const canvas = h("canvas", { width: Math.max(1, Math.round(image.width * scale)), height: Math.max(1, Math.round(image.height * scale)) });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  image.close();
  const png = await new Promise((/** @type {BlobCallback} */ resolve) => canvas.toBlob(resolve, "image/png"));
  if (!png) throw new Error(t("device.picture.unreadable"));
  return png;
}
