"""Sound of the tests: words for the fake microphone, and what a page plays."""

from __future__ import annotations

import base64
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from firmware_test_client.config import Voice
from firmware_test_client.espeak import synthesise
from firmware_test_client.pcm import Pcm

if TYPE_CHECKING:
    from playwright.async_api import Page

RATE: Final = 48_000
"""Hz, of the file that Chromium takes for a microphone: mono, 16 bits."""

LEAD_IN_S: Final = 1.5
"""Before the first word: a page that opens the microphone takes a while to listen."""

LEAD_OUT_S: Final = 20.0
"""Behind the last word: at its end the microphone would fall silent in another way."""

PEAK_DBFS: Final = -8.0

TAP: Final = """
(() => {
  // Everything that is connected to a destination is connected to a recorder too, and what media
  // elements play as well.
  const LIMIT = 180; // seconds that are kept
  const taps = new Map();
  let kept = [];
  let rate = 0;
  let samples = 0;
  const connect = AudioNode.prototype.connect;
  const tapOf = (context) => {
    let tap = taps.get(context);
    if (!tap) {
      tap = context.createScriptProcessor(4096, 2, 1);
      tap.onaudioprocess = ({ inputBuffer }) => {
        rate = inputBuffer.sampleRate;
        if (samples > LIMIT * rate) return;
        const left = inputBuffer.getChannelData(0);
        const right = inputBuffer.getChannelData(1);
        const piece = new Int16Array(left.length);
        for (let at = 0; at < left.length; at += 1) {
          const value = Math.max(-1, Math.min(1, (left[at] + right[at]) / 2));
          piece[at] = Math.round(value * 32767);
        }
        kept.push(piece);
        samples += piece.length;
      };
      connect.call(tap, context.destination); // it runs only then; it puts out silence
      taps.set(context, tap);
    }
    return tap;
  };
  AudioNode.prototype.connect = function (to, ...more) {
    const result = connect.call(this, to, ...more);
    if (to instanceof AudioDestinationNode && to.context instanceof AudioContext) {
      connect.call(this, tapOf(to.context));
    }
    return result;
  };
  const play = HTMLMediaElement.prototype.play;
  const media = new WeakSet();
  let mixer;
  HTMLMediaElement.prototype.play = async function () {
    // Through a context from its first sample on: a stream that is captured once it plays begins
    // as late as the machine is busy.
    mixer ??= new AudioContext();
    await mixer.resume();
    if (!media.has(this)) {
      media.add(this);
      mixer.createMediaElementSource(this).connect(mixer.destination);
    }
    return play.call(this);
  };
  globalThis.__vixioPlayed = () => {
    const all = new Int16Array(samples);
    let at = 0;
    for (const piece of kept) {
      all.set(piece, at);
      at += piece.length;
    }
    const bytes = new Uint8Array(all.buffer);
    let text = "";
    for (let from = 0; from < bytes.length; from += 32768) {
      text += String.fromCharCode(...bytes.subarray(from, from + 32768));
    }
    return { rate, data: btoa(text) };
  };
  globalThis.__vixioForgetPlayed = () => {
    kept = [];
    samples = 0;
  };
})();
"""
"""A page's first script: it records what the page plays."""

_LOUD: Final = 330  # of 32768, about -40 dBFS
_BLOCKS_A_SECOND: Final = 50


@dataclass(frozen=True, slots=True)
class Played:
    """What a page has played, silence between included. ``pcm``: at the rate of its context."""

    pcm: Pcm

    @property
    def loud_seconds(self) -> float:
        """How long it was louder than about -40 dBFS."""
        if not self.pcm.rate:
            return 0.0
        block = self.pcm.rate // _BLOCKS_A_SECOND
        samples = self.pcm.samples
        blocks = samples[: len(samples) // block * block].reshape(-1, block).astype(np.int32)
        return float(np.count_nonzero(np.abs(blocks).max(axis=1) >= _LOUD)) / _BLOCKS_A_SECOND


async def played(page: Page, *, forget: bool = False) -> Played:
    """Return what the page has played. ``forget``: begin anew after it."""
    found = await page.evaluate("() => __vixioPlayed()")
    if forget:
        await page.evaluate("() => __vixioForgetPlayed()")
    return Played(Pcm(base64.b64decode(found["data"]), int(found["rate"])))


async def microphone_file(folder: Path, *sentences: str, pause_s: float = 6.0) -> Path:
    """Write a WAV for the fake microphone: each sentence, with a pause behind it."""
    pieces = [np.zeros(round(LEAD_IN_S * RATE), dtype=np.float64)]
    for sentence in sentences:
        words = (await synthesise(sentence, Voice())).resampled(RATE).samples.astype(np.float64)
        pieces += [words, np.zeros(round(pause_s * RATE), dtype=np.float64)]
    pieces.append(np.zeros(round(LEAD_OUT_S * RATE), dtype=np.float64))
    whole = np.concatenate(pieces)
    whole *= 32767 * 10 ** (PEAK_DBFS / 20) / max(1.0, float(np.abs(whole).max()))
    path = folder / "microphone.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(np.round(whole).astype("<i2").tobytes())
    return path
