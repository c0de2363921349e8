// Listens to a device: the page's parts want the detail of its events.

/** @param {import("../../talk/device.js").Device} device @param {string} type @param {(detail: any) => void} receive */
export function on(device, type, receive) {
  device.addEventListener(type, (event) => receive(/** @type {CustomEvent} */ (event).detail));
}
