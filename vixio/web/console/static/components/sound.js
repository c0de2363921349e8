// Plays what the user said in a turn, where it is kept as sound.

import { fetchApi, part } from "../lib/api.js";
import { fill } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { button } from "./controls.js";
import { icon } from "./icon.js";

/** Ends what is played: one at a time. */
let stop = () => undefined;

/** A button that plays it, and ends that. @param {{session: string, turn: number}} turn */
export function soundButton({ session, turn }) {
  const control = button(t("turn.play"), toggle, { icon: "play", iconOnly: true, small: true });
  control.classList.add("play");
  let playing = false;
  return control;

  async function toggle() {
    const again = playing;
    stop();
    if (again) return;
    const answer = await fetchApi("GET", `/conversations/${part(session)}/turns/${turn}/sound`);
    const url = URL.createObjectURL(await answer.blob());
    const audio = new Audio(url);
    const ended = () => {
      audio.pause();
      URL.revokeObjectURL(url);
      show(false);
      stop = () => undefined;
      return undefined;
    };
    audio.addEventListener("ended", ended, { once: true });
    stop();
    stop = ended;
    show(true);
    try {
      await audio.play();
    } catch (error) {
      ended();
      throw error;
    }
  }

  /** @param {boolean} now whether it is played */
  function show(now) {
    playing = now;
    const words = t(now ? "turn.play.stop" : "turn.play");
    control.title = words;
    control.setAttribute("aria-label", words);
    fill(control, icon(now ? "stop" : "play"));
  }
}
