// The voices of a provider: heard before one is chosen.

import { button, field, loading, notice, select } from "../../components/controls.js";
import { fetchApi, get } from "../../lib/api.js";
import { fill, h, uniqueId } from "../../lib/dom.js";
import { locale, t } from "../../lib/i18n.js";
import { inheritedWords } from "./bound.js";
import { same } from "./draft.js";
import { inForce, optionFields, whenChosen } from "./provider.js";

/** @typedef {import("./editor.js").Editor} Editor */

const MOST = 40;
const TAG = /^([A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,8})?$/;

/** The voices to choose from; of a provider that does not list them, a name. @param {Editor} editor */
export function voiceChoice(editor) {
  const player = makePlayer(editor);
  const place = h("div", { class: "stack" });
  whenChosen(editor, "tts", (now, signal) => {
    player.element.hidden = !now.known?.installed;
    if (now.known?.lists_voices && now.known.installed) void voices(editor, place, player, signal);
    else fill(place, ...optionFields(editor, "tts", now, { only: ["voice"] }, signal));
  });
  return [place, player.element];
}

/** @typedef {{element: HTMLElement, play: (options: Record<string, any>, language: string) => Promise<void>}} Player */

/** Plays samples, one at a time: the server makes one at a time. @param {Editor} editor @returns {Player} */
function makePlayer(editor) {
  const text = h("input", { type: "text", maxLength: 200, autocomplete: "off", placeholder: t("profiles.sample.default") });
  const audio = h("audio", { controls: true, hidden: true, "aria-label": t("profiles.sample") });
  let url = "";
  let last = Promise.resolve();
  editor.signal.addEventListener("abort", () => {
    audio.pause();
    URL.revokeObjectURL(url);
  }, { once: true });

  /** @param {Record<string, any>} options @param {string} wanted */
  async function sample(options, wanted) {
    const now = inForce(editor, "tts");
    const tts = { ...editor.draft.at(now.path), ...options };
    const language = wanted || editor.draft.at(["language"]) || editor.form.defaults.language || "";
    const body = { tts, language: TAG.test(language) ? language : "", text: text.value.trim() };
    audio.pause();
    const response = await fetchApi("POST", "/voices/sample", { body, signal: editor.signal });
    const blob = await response.blob();
    URL.revokeObjectURL(url);
    url = URL.createObjectURL(blob);
    audio.src = url;
    audio.hidden = false;
    await audio.play();
  }

  return {
    element: h("div", { class: "sample-row" },
      field(t("profiles.sample.text"), text, { hint: t("profiles.sample.hint") }),
      button(t("profiles.listen.now"), () => play({}, ""), { icon: "play" }),
      audio),
    play,
  };

  /** @param {Record<string, any>} options @param {string} language */
  function play(options, language) {
    const mine = last.then(() => sample(options, language));
    last = mine.catch(() => undefined);
    return mine;
  }
}

/** @param {Editor} editor @param {HTMLElement} place @param {Player} player @param {AbortSignal} signal */
async function voices(editor, place, player, signal) {
  fill(place, loading());
  try {
    const found = await get("/voices", { type: inForce(editor, "tts").name }, signal);
    if (!signal.aborted) fill(place, ...voiceList(editor, found.voices, player, signal));
  } catch (error) {
    if (signal.aborted) return;
    const again = button(t("retry"), () => voices(editor, place, player, signal), { icon: "refresh" });
    fill(place, notice("warn", h("p", null, t("profiles.voices.none")), h("p", null, /** @type {Error} */ (error).message), h("div", { class: "row" }, again)));
  }
}

/** @param {Editor} editor @param {any[]} voices @param {Player} player @param {AbortSignal} signal */
function voiceList(editor, voices, player, signal) {
  if (!voices.length) return [];
  const group = uniqueId("voices");
  const names = new Intl.DisplayNames([locale()], { type: "language", fallback: "code" });
  const base = (/** @type {string} */ tag) => tag.split("-")[0].toLowerCase();
  const languages = [...new Set(voices.map((each) => base(each.language)).filter(Boolean))].sort((a, b) => languageName(names, a).localeCompare(languageName(names, b)));
  const wanted = () => base(editor.draft.at(["language"]) || editor.form.defaults.language || "");
  const search = h("input", { type: "search", autocomplete: "off", oninput: () => draw() });
  const filter = select(
    [["", t("profiles.voices.all", { count: voices.length })], ...languages.map((each) => /** @type {[string, string]} */ ([each, languageName(names, each)]))],
    languages.includes(wanted()) ? wanted() : "",
    { onchange: () => draw() },
  );
  const list = h("div", { class: "voice-list", role: "radiogroup", "aria-label": t("profiles.voice") });
  const more = h("p", { class: "small muted", role: "status" });

  const draw = () => {
    const words = search.value.trim().toLowerCase();
    const found = voices.filter((each) =>
      (!filter.value || base(each.language) === filter.value) &&
      `${each.name} ${each.about} ${each.language} ${languageName(names, base(each.language))}`.toLowerCase().includes(words));
    const chosen = voices.find((each) => isChosen(editor, each));
    const shown = [...found.slice(0, MOST), ...(chosen && !found.slice(0, MOST).includes(chosen) ? [chosen] : [])];
    fill(list, inheritedRow(editor, voices, group, chosen), ...shown.map((each) => row(editor, each, each === chosen, group, player, names)));
    more.textContent = found.length > MOST ? t("profiles.voices.more", { count: found.length - MOST }) : found.length ? "" : t("profiles.voices.no-match");
  };
  let before = JSON.stringify(editor.draft.at(["tts"]) ?? null);
  editor.draft.addEventListener("change", () => {
    const now = JSON.stringify(editor.draft.at(["tts"]) ?? null);
    if (now === before || !list.isConnected || list.contains(document.activeElement)) return;
    before = now;
    draw();
  }, { signal });
  draw();
  return [h("div", { class: "voice-filters" }, field(t("profiles.voices.search"), search), field(t("profiles.voices.language"), filter)), list, more];
}

/** @param {Intl.DisplayNames} names @param {string} tag */
function languageName(names, tag) {
  try {
    return (tag && names.of(tag)) || tag;
  } catch {
    return tag;
  }
}

/** Whether the draft itself has this voice. @param {Editor} editor @param {any} voice */
function isChosen(editor, voice) {
  const { path } = inForce(editor, "tts");
  const given = editor.draft.at(path) ?? {};
  return Object.entries(voice.options).every(([key, value]) =>
    typeof value === "object" && value ? Object.entries(value).every(([name, each]) => same(given[key]?.[name], each)) : same(given[key], value));
}

/** @param {Editor} editor @param {any[]} voices @param {string} group @param {any} chosen */
function inheritedRow(editor, voices, group, chosen) {
  const { path, inherited, own } = inForce(editor, "tts");
  const given = editor.draft.at([...path, "voice"]);
  const words = given && !chosen ? t("profiles.voice.other", { name: String(given) }) : inheritedWords(inherited.voice || t("profiles.voice.default"), own);
  const choose = () => {
    for (const key of new Set(voices.flatMap((each) => Object.keys(each.options)))) editor.draft.put([...inForce(editor, "tts").path, key], undefined);
  };
  const radio = h("input", { type: "radio", name: group, checked: !chosen, onchange: choose });
  return h("div", { class: "voice inherited" }, h("label", { class: "check" }, radio, h("span", null, words)));
}

/** @param {any} value */
const plain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The stored voices of other languages. One of the same language would be spoken instead of the chosen one.
 * @param {Editor} editor @param {import("./draft.js").Path} path @param {string} language
 */
function otherLanguages(editor, path, language) {
  /** @type {any} */
  let stored = editor.draft.stored;
  for (const key of path) stored = stored?.[key];
  const base = language.split("-")[0].toLowerCase();
  return Object.fromEntries(Object.entries(plain(stored) ? stored : {}).filter(([key]) => key.split("-")[0].toLowerCase() !== base));
}

/** @param {Editor} editor @param {any} voice @param {boolean} checked @param {string} group @param {Player} player @param {Intl.DisplayNames} names */
function row(editor, voice, checked, group, player, names) {
  const choose = () => {
    for (const [key, value] of Object.entries(voice.options)) {
      const at = [...inForce(editor, "tts").path, key];
      editor.draft.put(at, plain(value) ? { ...otherLanguages(editor, at, voice.language), ...value } : value);
    }
  };
  const radio = h("input", { type: "radio", name: group, value: voice.name, checked, onchange: choose });
  const listen = button(t("profiles.listen"), () => player.play(voice.options, voice.language), { icon: "play", small: true });
  listen.setAttribute("aria-label", t("profiles.listen.to", { name: voice.name }));
  const language = languageName(names, voice.language);
  return h(
    "div",
    { class: "voice" },
    h("label", { class: "check" }, radio, h("span", null, h("b", null, voice.about || voice.name), " ", h("span", { class: "small muted" }, [voice.name, language].filter((each) => each && each !== voice.about).join(" · ")))),
    listen,
  );
}

