"""How well the server's echo canceller works, on its own: no sockets, no waiting.

    vixio bench echo              # the table, offline; needs the extra `aec`

A long answer of eSpeak NG goes through the server's encoder to a device of the bench, comes out of
its loudspeaker, and back into its microphone: later, softer, through a room, a loudspeaker that
distorts and the firmware's Opus. From the twelfth second a user speaks over it. The canceller and
Silero then decide what is voice. Time is that of the audio, so a busy machine changes no figure but
that of the processor.

- ERLE: by how much the echo was made softer, from 1 to 3 s and from 5 to 12 s;
- false: windows in which the assistant's own voice is taken for a user's; cuts: how often it would
  have interrupted itself (both without the canceller in brackets);
- user: of the windows with the user's voice, those in which it is heard.

Then twenty users begin to speak over an answer of a minute. Exits with 1 if a mark is missed: with
echoes up to -6 dB and 400 ms no cut, and at most 1 user in 20 not heard (none at -12 dB).
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import soxr

from vixio.audio.echo import EchoCanceller, is_installed
from vixio.core.audio import LISTEN_RATE
from vixio.core.extras import how_to_install
from vixio.providers.silero_vad.model import WINDOW_BYTES, SileroModel, find_model
from vixio.stations.vad import VADSettings
from vixio.testing.voices import Floats, Speaker, Voices
from vixio_bench.echo.device import LEAD_S, SPEECH_DB, Case, Heard, Sound, as_pcm, hear, level

ASSISTANT: Final = Speaker("en-us+m1", rate=160, pitch=50)
USERS: Final = (Speaker("en-us+f3", rate=165, pitch=60), Speaker("en-us+m5", rate=150, pitch=40))
USER_S: Final = (12.5, 16.5)
LENGTH_S: Final = 18.0
STORY: Final = (
    "Once upon a time there was a small server that lived in a cupboard under the stairs.",
    "Every morning it woke before the house did, and listened to the pipes and to the rain.",
    "It knew the names of all the lamps, and which of them had been left on by the children.",
    "In the evenings somebody asked it for a story, and it told the one about the lighthouse.",
    "The keeper of that lighthouse had a parrot, which had learned the words of the sea.",
)
SAID: Final = (
    "wait a moment please, I wanted to ask something else entirely",
    "no, stop, tell me about the weather in Berlin tomorrow instead",
)

_WINDOW: Final = WINDOW_BYTES // 2
_THRESHOLD: Final = VADSettings().threshold
_RUN: Final = -(-VADSettings().min_speech_ms * LISTEN_RATE // 1000 // _WINDOW)

GRID: Final = tuple(Case(delay, db) for db in (-20.0, -12.0, -6.0) for delay in (80, 160, 240, 400))
_BASE: Final = Case(160, -6.0)
CASES: Final = (
    *GRID,
    replace(_BASE, opus=False, distorts=False),
    replace(_BASE, drift_ppm=100),
    replace(_BASE, drift_ppm=-100),
    replace(_BASE, jitter_ms=80),
    replace(_BASE, jump_ms=60),
    replace(_BASE, jump_ms=-60),
    replace(_BASE, jump_ms=200),
    replace(_BASE, lost=3),
    replace(_BASE, lost=3, stamps=False, marked=False),
    replace(_BASE, stall_ms=900),
    replace(_BASE, way_ms=100),
    replace(_BASE, delay_ms=400, way_ms=100),
    replace(_BASE, delay_ms=400, jitter_ms=80),
    replace(_BASE, way_ms=250),
    replace(_BASE, way_ms=250, stamps=False, marked=False),
    replace(_BASE, delay_ms=600, marked=False),
    replace(_BASE, echo_db=0.0, marked=False),
)
BARGE_IN: Final = tuple((db, most) for db, most in ((-20.0, 0), (-12.0, 0), (-6.0, 1), (0.0, None)))


class Studio:
    """Makes the sounds, once for all cases."""

    def __init__(self) -> None:
        self._voices = Voices(repeatable=True)
        self._model = SileroModel(find_model())

    def story(self, seconds: float) -> Floats:
        """Return the answer: sentences one behind another."""
        said = [self._said(text, ASSISTANT) for text in STORY]
        whole = np.concatenate(said * (1 + int(seconds * LISTEN_RATE) // sum(map(len, said))))
        return whole[: round(seconds * LISTEN_RATE)]

    def conversation(self) -> Sound:
        """Return a long answer, and a user who speaks over its second half."""
        user = np.zeros(round(LENGTH_S * LISTEN_RATE), np.float32)
        words = np.concatenate(
            [self._said(text, who) for text, who in zip(SAID, USERS, strict=True)]
        )
        start, end = (round(at * LISTEN_RATE) for at in USER_S)
        user[start:end] = np.resize(words, end - start)
        return Sound(self.story(LENGTH_S - LEAD_S), user)

    def onsets(self, number: int, every_s: float) -> tuple[Sound, list[int]]:
        """Return an answer over which users say a second of something, and where they begin."""
        user = np.zeros(round((number + 1) * every_s * LISTEN_RATE), np.float32)
        starts = []
        for index in range(number):
            words = self._said(SAID[index % 2], USERS[index // 2 % 2])[:LISTEN_RATE]
            # Not at the same place of a sentence each time.
            starts.append(round(((index + 1) * every_s + index * 0.037) * LISTEN_RATE))
            user[starts[-1] : starts[-1] + len(words)] += words
        return Sound(self.story(len(user) / LISTEN_RATE - LEAD_S), user), starts

    def _said(self, text: str, who: Speaker) -> Floats:
        pcm = np.frombuffer(self._voices.speak(text, who, seed=1), "<i2").astype(np.float32) / 32768
        sound = np.asarray(soxr.resample(pcm, self._voices.sample_rate, LISTEN_RATE), np.float32)
        sound = np.trim_zeros(sound)
        return np.asarray(sound * 10 ** (SPEECH_DB / 20) / level(sound), np.float32)

    def voice(self, sound: Floats) -> Floats:
        """Return the probability of voice in each window of the detector."""
        self._model.forget(0)
        samples = as_pcm(sound)
        whole = len(samples) // WINDOW_BYTES * WINDOW_BYTES
        piece = 4 * WINDOW_BYTES
        found = [
            probability
            for at in range(0, whole, piece)
            for probability in self._model.run([0], [samples[at : min(whole, at + piece)]])[0]
        ]
        return np.array(found, np.float32)


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one case. Shares of windows; ``cuts`` in the whole time without a user."""

    case: Case
    erle_db: tuple[float, float]
    false: float
    cuts: int
    without: tuple[float, int]
    user: float
    cpu: float
    """Seconds of processor for a second of audio."""
    jumps: int


def measure(studio: Studio, case: Case, sound: Sound) -> Figures:
    """Play a case with and without the canceller."""
    raw = hear(case, sound, canceller=None)
    canceller = EchoCanceller()
    heard = hear(case, sound, canceller=canceller)
    canceller.close()
    user = studio.voice(sound.user[: len(raw.microphone)]) > _THRESHOLD
    # Behind the user's voice the detector needs a moment.
    near = np.convolve(user, np.ones(12), "full")[: len(user)] > 0
    with_, without = studio.voice(heard.cleaned), studio.voice(raw.cleaned)
    return Figures(
        case,
        (_erle(raw, heard, 1, 3), _erle(raw, heard, 5, 12)),
        float(np.mean(with_[~near] > _THRESHOLD)),
        _onsets(with_, ~near),
        (float(np.mean(without[~near] > _THRESHOLD)), _onsets(without, ~near)),
        float(np.mean(with_[user] > _THRESHOLD)),
        heard.cpu_s * LISTEN_RATE / len(raw.microphone),
        heard.jumps,
    )


def _erle(raw: Heard, heard: Heard, first: float, last: float) -> float:
    part = slice(round(first * LISTEN_RATE), round(last * LISTEN_RATE))
    left = float(np.mean(heard.cleaned[part] ** 2)) + 1e-12
    return float(10 * np.log10(np.mean(raw.cleaned[part] ** 2) / left))


def _onsets(voice: Floats, where: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """Return how often the VAD station would begin to hear a voice."""
    run = count = 0
    for probability, counts in zip(voice, where, strict=True):
        run = run + 1 if probability >= _THRESHOLD and counts else 0
        count += run == _RUN
    return count


@dataclass(frozen=True, slots=True)
class BargeIn:
    """``later_ms``: of those that were heard, by how much later than without an echo."""

    echo_db: float
    missed: int
    later_ms: tuple[float, ...]
    most: int | None
    """That may be missed; None: any number."""


def barge_in(studio: Studio, echo_db: float, most: int | None) -> BargeIn:
    """Let twenty users begin to speak over an answer."""
    sound, starts = studio.onsets(20, 3.2)
    canceller = EchoCanceller()
    heard = hear(Case(160, echo_db), sound, canceller=canceller)
    canceller.close()
    alone, over = studio.voice(sound.user), studio.voice(heard.cleaned)
    later = []
    for start in starts:
        expected, found = (_first(voice, start // _WINDOW) for voice in (alone, over))
        if found is not None and expected is not None:
            later.append((found - expected) * _WINDOW * 1000 / LISTEN_RATE)
    return BargeIn(echo_db, len(starts) - len(later), tuple(later), most)


def _first(voice: Floats, window: int) -> int | None:
    """Return where a voice begins; None: nowhere, or something was taken for one already."""
    if voice[window - 1] >= _THRESHOLD:
        return None
    run = 0
    for index in range(window, min(len(voice), window + 1200 // 32)):
        run = run + 1 if voice[index] >= _THRESHOLD else 0
        if run == _RUN:
            return index
    return None


def table(figures: Sequence[Figures]) -> str:
    """Return the figures for people."""
    lines = [
        "| delay, echo against the user | ERLE 1–3 s, 5–12 s | false | cuts | user | CPU ms/s |",
        "|---|---|---|---|---|---|",
    ]
    for each in figures:
        false, cuts = each.without
        lines.append(
            f"| {each.case.name} | {each.erle_db[0]:.0f}, {each.erle_db[1]:.0f} dB "
            f"| {each.false:.0%} ({false:.0%}) | {each.cuts} ({cuts}) "
            f"| {each.user:.0%} | {each.cpu * 1000:.1f} |"
        )
    return "\n".join(lines)


def _onset_table(found: Sequence[BargeIn]) -> str:
    lines = ["| 160 ms, echo | of 20 users not heard | later by: p50, p90 |", "|---|---|---|"]
    for each in found:
        ordered = sorted(each.later_ms) or [float("nan")]
        p90 = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
        median = statistics.median(ordered)
        lines.append(f"| {each.echo_db:g} dB | {each.missed} | {median:.0f}, {p90:.0f} ms |")
    return "\n".join(lines)


def misses(figures: Sequence[Figures], found: Sequence[BargeIn]) -> list[str]:
    """Return the marks that are missed."""
    cut = [f"it cut itself: {each.case.name}" for each in figures if each.case.marked and each.cuts]
    unheard = [
        f"{each.missed} of 20 users not heard at {each.echo_db:g} dB"
        for each in found
        if each.most is not None and each.missed > each.most
    ]
    return cut + unheard


def main(argv: Sequence[str]) -> int:
    """Measure and print; return 0 if the marks are met, 1 if not, 2 without the extra."""
    parser = argparse.ArgumentParser(
        prog="vixio bench echo",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(list(argv))
    if not is_installed():
        sys.stderr.write(f"vixio bench echo: needs the extra aec: {how_to_install('aec')}\n")
        return 2
    studio = Studio()
    sound = studio.conversation()
    figures = [measure(studio, case, sound) for case in CASES]
    found = [barge_in(studio, db, most) for db, most in BARGE_IN]
    sys.stdout.write(f"{table(figures)}\n\n{_onset_table(found)}\n")
    missed = misses(figures, found)
    sys.stdout.write("".join(f"MISS {each}\n" for each in missed))
    return 1 if missed else 0
