// Pictures of a few lines each, on a grid of 24.

import { svg } from "../lib/dom.js";

const PATHS = {
  home: "M3.5 11L12 4l8.5 7M6 9.5V20h12V9.5M10 20v-5h4v5",
  devices: "M7 3h10v18H7zM11 18h2",
  talk: "M12 3a3 3 0 0 0-3 3v6a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3zM5 11v1a7 7 0 0 0 14 0v-1M12 19v3",
  profiles: "M4 7h10M18 7h2M4 17h2M10 17h10M14 4v6M6 14v6",
  assistant: "M12 3v4M6 7h12v10H6zM9.5 11v2M14.5 11v2M3 10v4M21 10v4M8 21h8",
  conversations: "M4 4h12v9H9l-4 3.5V13H4zM19 9h1v9h-1v3l-3.5-3H10",
  memory: "M12 20s-8-5-8-11a4.5 4.5 0 0 1 8-2.8A4.5 4.5 0 0 1 20 9c0 6-8 11-8 11z",
  server: "M4 4h16v7H4zM4 13h16v7H4zM8 7.5h.01M8 16.5h.01",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5",
  close: "M6 6l12 12M18 6L6 18",
  check: "M5 12.5l4.5 4.5L19 7",
  warn: "M12 4l9 16H3zM12 10v5M12 17.5v.01",
  stop: "M7 7h10v10H7z",
  play: "M8 5l11 7-11 7z",
  mic: "M12 3a3 3 0 0 0-3 3v6a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3zM5 11v1a7 7 0 0 0 14 0v-1M12 19v3",
  micOff: "M9 9v3a3 3 0 0 0 5 2.2M15 10V6a3 3 0 0 0-5.7-1.3M5 11v1a7 7 0 0 0 11 5.7M12 19v3M4 4l16 16",
  send: "M4 12l16-8-6 16-3-7z",
  camera: "M4 8h4l2-3h4l2 3h4v11H4zM12 10a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z",
  lamp: "M9 18h6M10 21h4M12 3a6 6 0 0 0-3.5 10.9V16h7v-2.1A6 6 0 0 0 12 3z",
  volume: "M4 9v6h4l5 4V5L8 9zM16 9a4 4 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  undo: "M8 5L4 9l4 4M4 9h10a5 5 0 0 1 0 10h-3",
  refresh: "M20 11a8 8 0 0 0-14-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14 4l2-2M20 20v-5h-5",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  tool: "M14 7a4 4 0 0 1 5-4l-2.5 2.5 2 2L21 5a4 4 0 0 1-5.5 5L7 18.5a2.1 2.1 0 0 1-3-3L12.5 7",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5",
  moon: "M20 14A8.5 8.5 0 0 1 10 4a8.5 8.5 0 1 0 10 10z",
  screen: "M3 5h18v12H3zM9 21h6",
  power: "M12 3v8M7 6a8 8 0 1 0 10 0",
  plus: "M12 5v14M5 12h14",
  out: "M10 4H5v16h5M14 8l4 4-4 4M8 12h10",
  person: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21c1-5 15-5 16 0",
  bell: "M6 17V11a6 6 0 0 1 12 0v6l1.5 2h-15zM10 21h4",
  left: "M15 5l-7 7 7 7",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  pause: "M8 5v14M16 5v14",
  up: "M12 19V5M6 11l6-6 6 6",
  upload: "M12 16V5M7 9l5-5 5 5M5 20h14",
};

/** @typedef {keyof typeof PATHS} IconName */

/**
 * Makes a picture, which screen readers pass over: what it means stands beside it or in a label.
 * @param {IconName} name
 */
export function icon(name) {
  return svg(
    "svg",
    { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: PATHS[name] }),
  );
}
