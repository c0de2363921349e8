// Plays and erases what the user said in a turn, where it is kept as sound.

import { fetchApi, part, remove } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { button } from "./controls.js";
import { confirmed } from "./dialog.js";
import { icon } from "./icon.js";

/** Ends what is played: one at a time. */
let stop = () => undefined;

/**
 * A button that plays it, and ends that, and one that erases it.
 * @param {{session: string, turn: number}} turn @param {() => void} erased called when it is gone
 */
export function soundButtons({ session, turn }, erased) {
  const path = `/conversations/${part(session)}/turns/${turn}/sound`;
  const control = button(t("turn.play"), toggle, { icon: "play", iconOnly: true, small: true });
  control.classList.add("play");
  let playing = false;
  return h("span", { class: "sound" }, control, button(t("turn.sound.erase"), erase, { icon: "trash", iconOnly: true, small: true }));

  async function toggle() {
    const again = playing;
    stop();
    if (again) return;
    const answer = await fetchApi("GET", path);
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

  async function erase() {
    await confirmed({
      title: t("turn.sound.erase.title"),
      text: t("turn.sound.erase.text"),
      act: t("erase"),
      run: async () => {
        await remove(path);
        if (playing) stop();
        erased();
      },
    });
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
