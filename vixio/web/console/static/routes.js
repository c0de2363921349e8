// The pages, each in a module of its own that is loaded when it is first shown.

/**
 * `icon`: in the navigation; without one the page is reached from others. `open`: without a login.
 *
 * @typedef {object} Route
 * @property {string} name the first part of the address
 * @property {string} [icon]
 * @property {boolean} [open]
 * @property {string} [within] the page of the navigation that it belongs to
 * @property {() => Promise<{page: (context: import("./app.js").PageContext) => void | Promise<void>}>} load
 */

/** @type {Route[]} */
export const ROUTES = [
  { name: "login", open: true, load: () => import("./pages/login.js") },
  { name: "home", icon: "home", load: () => import("./pages/home.js") },
  { name: "devices", icon: "devices", load: () => import("./pages/devices.js") },
  { name: "add", within: "devices", load: () => import("./pages/add.js") },
  { name: "device", within: "devices", load: () => import("./pages/device.js") },
  { name: "talk", icon: "talk", open: true, load: () => import("./pages/talk.js") },
  { name: "profiles", icon: "profiles", load: () => import("./pages/profiles.js") },
  { name: "assistant", icon: "assistant", load: () => import("./pages/assistant.js") },
  { name: "conversations", icon: "conversations", load: () => import("./pages/conversations.js") },
  { name: "memory", icon: "memory", load: () => import("./pages/memory.js") },
  { name: "server", icon: "server", load: () => import("./pages/server.js") },
  { name: "components", open: true, load: () => import("./pages/components.js") },
];

/** @param {string} name */
export function routeOf(name) {
  return ROUTES.find((route) => route.name === name);
}
