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

/**
 * What a page's help is, as page and section of the documentation, by the beginning of the address.
 *
 * @type {Record<string, string>}
 */
const HELP = {
  login: "console#signing-in",
  home: "console#home",
  devices: "console#devices",
  add: "devices#claiming-a-device",
  device: "console#a-device",
  talk: "console#talk",
  profiles: "console#profiles",
  assistant: "console#the-assistant",
  "assistant/setup/language": "speech#languages",
  "assistant/setup/asr": "speech#ears",
  "assistant/setup/agent": "models#connecting-a-service",
  "assistant/setup/tts": "speech#voices",
  "assistant/setup/tools": "tools#mcp-servers",
  conversations: "console#history",
  memory: "data#reminders-timers-alarms-messages",
  "memory/people": "devices#people",
  "memory/devices": "data#what-is-kept",
  "memory/papers": "data#documents",
  server: "console#server",
  "server/parts": "providers#trying-them-out",
  "server/log": "configuration#the-log",
  "server/settings": "configuration#precedence",
  "server/access": "api-http#tokens-and-the-login",
  "server/firmware": "devices#firmware-updates",
  components: "console#for-developers",
};

/** The address of the help of a page: the longest beginning counts. @param {string[]} path @returns {string} */
export function helpOf(path) {
  if (!path.length) return "help/console";
  const found = HELP[path.join("/")];
  return found ? `help/${found}` : helpOf(path.slice(0, -1));
}
