// The turns of a conversation, from the stream of events or from the record: one shape for both.

/** @typedef {import("./stream.js").FeedEvent} FeedEvent */
/** @typedef {{id: string, name: string, arguments: string, output: string, success: boolean | null, error?: string, ms: number}} ToolCall `error`: its type */
/** @typedef {{model: string, input_tokens?: number, output_tokens?: number}} ModelUse */
/** @typedef {{text: string, done: boolean, filler: boolean}} Sentence `filler`: words that only bridge a pause */

/**
 * `cut`: the part of the answer that was not heard, as far as it is known. `over`: nothing more comes.
 *
 * @typedef {object} Turn
 * @property {string} key
 * @property {string} session
 * @property {number} turn
 * @property {number} at milliseconds since 1970
 * @property {string} heard
 * @property {string} guess what words may have been that the recogniser declined
 * @property {boolean} partial whether `heard` may still change
 * @property {Sentence[]} sentences
 * @property {string} cut
 * @property {boolean} interrupted
 * @property {string} outcome
 * @property {string[]} errors
 * @property {Record<string, number>} stages milliseconds after the end of the user's turn
 * @property {ToolCall[]} tools
 * @property {ModelUse[]} models
 * @property {number} sound milliseconds of what the user said that are there as sound
 * @property {boolean} over
 */

/** @param {string} session @param {number} turn @param {number} at @returns {Turn} */
function blank(session, turn, at) {
  return {
    key: `${session}/${turn}`, session, turn, at, heard: "", guess: "", partial: false, sentences: [], cut: "", interrupted: false,
    outcome: "", errors: [], stages: {}, tools: [], models: [], sound: 0, over: false,
  };
}

/** A turn of the record. @param {any} record @returns {Turn} */
export function fromRecord(record) {
  const turn = blank(record.session_id, record.turn, record.at);
  const outcome = String(record.outcome);
  return {
    ...turn,
    heard: record.heard,
    guess: record.guess,
    sentences: record.said ? [{ text: record.said, done: true, filler: false }] : [],
    interrupted: outcome.startsWith("interrupted"),
    outcome,
    errors: record.error ? [record.error] : [],
    stages: record.stages,
    tools: record.tools.map((/** @type {any} */ call, /** @type {number} */ at) => ({
      id: String(at), name: call.name, arguments: call.arguments ?? "", output: call.output ?? "", success: call.success ?? true, error: call.error, ms: call.ms ?? 0,
    })),
    models: record.models,
    sound: record.sound_ms,
    over: true,
  };
}

const MOST = 200;

/** The turns of one device, as the events tell them. */
export class TurnLog {
  /** @type {Map<string, Turn>} */
  turns = new Map();

  /** @param {any[]} records oldest first */
  load(records) {
    for (const record of records) {
      const turn = fromRecord(record);
      if (this.turns.get(turn.key)?.over !== true) this.turns.set(turn.key, turn);
    }
    this.turns = new Map([...this.turns].sort(([, a], [, b]) => a.at - b.at));
  }

  /**
   * Takes an event into account; returns the turn that it changed.
   * @param {FeedEvent} event @returns {Turn | null}
   */
  receive(event) {
    if (event.turn === undefined || !event.session_id) return null;
    const key = `${event.session_id}/${event.turn}`;
    let turn = this.turns.get(key);
    if (!turn) {
      turn = blank(event.session_id, event.turn, event.at);
      this.turns.set(key, turn);
      for (const old of this.turns.keys()) {
        if (this.turns.size <= MOST) break;
        this.turns.delete(old);
      }
    }
    apply(turn, event);
    return turn;
  }
}

/** @param {Turn} turn @param {FeedEvent} event */
function apply(turn, event) {
  const text = event.text ?? "";
  switch (event.type) {
    case "transcript.partial":
      turn.heard = text;
      turn.partial = true;
      break;
    case "transcript":
    case "turn.started":
      if (text) turn.heard = text;
      turn.guess = event.guess || turn.guess;
      turn.partial = false;
      if (event.understood === false) turn.outcome = "not_understood";
      break;
    case "speech.sentence":
      for (const sentence of turn.sentences) sentence.done = true;
      turn.sentences.push({ text, done: false, filler: event.filler === true });
      break;
    case "speech.played":
      if (text) turn.sentences = [...fillers(turn), { text, done: true, filler: false }];
      break;
    case "speech.interrupted":
      cut(turn, text);
      break;
    case "tool.started":
      turn.tools.push({ id: event.call, name: event.tool, arguments: event.arguments ?? "", output: "", success: null, ms: 0 });
      break;
    case "tool.ended": {
      const call = turn.tools.find((each) => each.id === event.call);
      if (call) Object.assign(call, { output: event.output ?? "", success: event.success, error: event.error, ms: event.ms });
      break;
    }
    case "failure":
      turn.errors.push([event.stage, event.detail || event.reason].filter(Boolean).join(": "));
      break;
    case "turn.ended":
      turn.outcome = event.outcome;
      turn.stages = event.stages;
      turn.models = event.models ?? [];
      turn.sound = event.sound_ms ?? 0;
      turn.interrupted ||= String(event.outcome).startsWith("interrupted");
      turn.partial = false;
      turn.over = true;
  }
}

/** Keeps what was heard, and what was not as cut. @param {Turn} turn @param {string} heard */
function cut(turn, heard) {
  const whole = turn.sentences.filter((each) => !each.filler).map((each) => each.text).join(" ");
  turn.interrupted = true;
  turn.cut = heard && whole.startsWith(heard) ? whole.slice(heard.length).trim() : heard ? "" : whole;
  turn.sentences = [...fillers(turn), ...(heard ? [{ text: heard, done: true, filler: false }] : [])];
}

/** @param {Turn} turn */
function fillers(turn) {
  return turn.sentences.filter((each) => each.filler).map((each) => ({ ...each, done: true }));
}

/** From one mark to the next, and what the time between them went into. */
const PIECES = /** @type {const} */ ([
  ["turn_end", "waited"],
  ["transcript", "heard"],
  ["first_token", "thought"],
  ["first_sentence", "thought"],
  ["first_audio", "spoke"],
  ["first_frame", "spoke"],
]);

/**
 * Where the time from the end of the user's words to the first sound went.
 * @param {Turn} turn @returns {import("../components/bar.js").Stage[]}
 */
export function stagesOf(turn) {
  /** @type {Record<string, number>} */
  const marks = { turn_end: 0, ...turn.stages };
  if (!("first_frame" in marks) && !("transcript" in marks)) return [];
  const spent = new Map(/** @type {[string, number][]} */ ([["waited", 0], ["heard", 0], ["thought", 0], ["tools", 0], ["spoke", 0]]));
  const add = (/** @type {string} */ name, /** @type {number} */ ms) => spent.set(name, (spent.get(name) ?? 0) + ms);
  let from = marks.voice_end ?? 0;
  for (const [to, name] of PIECES) {
    if (!(to in marks)) continue;
    add(name, Math.max(0, marks[to] - from));
    from = Math.max(from, marks[to]);
  }
  // The tools run while the model's part of the time passes.
  const called = Math.min(turn.tools.reduce((sum, each) => sum + each.ms, 0), spent.get("thought") ?? 0);
  add("thought", -called);
  add("tools", called);
  return [...spent].filter(([, ms]) => ms > 0).map(([name, ms]) => ({ name, ms }));
}
