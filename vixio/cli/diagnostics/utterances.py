"""Cuts a recording into utterances, at its pauses where there are any.

Other than for a device, nothing may be lost: what goes on beyond the longest utterance is cut at
its quietest place and continued in the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.stations.turn_detector import TurnSettings
from vixio.stations.vad import VADSettings

_SMOOTH = 3
"""Windows on either side that count in the search for the quietest place."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A stretch of the recording that holds speech. ``start``: seconds from its beginning."""

    start: float
    pcm: bytes


class UtteranceCutter:
    """Takes 16 kHz PCM and what the detector says of it; pure, with the server's own settings.

    ``window_samples``: of the detector. No utterance is longer than ``longest`` seconds.
    """

    def __init__(
        self, window_samples: int, vad: VADSettings, turn: TurnSettings, longest: float
    ) -> None:
        self._window_bytes = window_samples * BYTES_PER_SAMPLE
        self._window_s = window_samples / LISTEN_RATE
        self._vad = vad
        self._speech = self._windows(vad.min_speech_ms)
        self._pause = self._windows(vad.min_pause_ms)
        self._end_silence = self._windows(turn.end_silence_ms)
        self._pre_roll = self._windows(turn.pre_roll_ms)
        self._longest = max(2 * self._speech, 2 * self._pause, int(longest / self._window_s))
        self._pcm = bytearray()
        self._kept: list[float] = []
        """Of the windows that are in the buffer."""
        self._first = 0
        """The window with which the buffer begins."""
        self._inside = False
        self._voice = False
        self._run = 0
        self._silence = 0

    def _windows(self, ms: int) -> int:
        return max(1, round(ms / 1000 / self._window_s))

    def feed(self, pcm: bytes, probabilities: Sequence[float]) -> Iterator[Utterance]:
        """Take audio and the detector's answer to it; yield what is complete with them."""
        self._pcm += pcm
        for probability in probabilities:
            self._kept.append(probability)
            self._weigh(probability)
            if self._inside:
                yield from self._cut()
            else:
                self._forget(len(self._kept) - self._pre_roll - self._speech)

    def finish(self) -> Iterator[Utterance]:
        """Yield what is left when the recording is over."""
        if self._inside and self._kept:
            yield self._take(len(self._kept))
        self._inside = False

    def _weigh(self, probability: float) -> None:
        if self._voice:
            self._run = self._run + 1 if probability < self._vad.exit_threshold else 0
            if self._run >= self._pause:
                self._voice, self._silence, self._run = False, self._run, 0
            return
        self._silence += 1
        self._run = self._run + 1 if probability >= self._vad.threshold else 0
        if self._run >= self._speech:
            if not self._inside:
                self._forget(len(self._kept) - self._run - self._pre_roll)
            self._inside = self._voice = True
            self._silence = self._run = 0

    def _cut(self) -> Iterator[Utterance]:
        if not self._voice and self._silence >= self._end_silence:
            self._inside = False
            yield self._take(len(self._kept))
        elif len(self._kept) >= self._longest:
            self._inside = self._voice
            # In a pause: before what may be the next words, which are not known as such yet.
            yield self._take(self._quietest() if self._voice else len(self._kept) - self._run)

    def _quietest(self) -> int:
        """Return the window in the later half before which a cut harms least."""
        kept = self._kept

        def loudness(at: int) -> float:
            around = kept[max(0, at - _SMOOTH) : at + _SMOOTH + 1]
            return sum(around) / len(around)

        middle = max(1, self._longest // 2)
        return min(range(middle, len(kept)), key=lambda at: (loudness(at), -at))

    def _take(self, windows: int) -> Utterance:
        utterance = Utterance(
            self._first * self._window_s, bytes(self._pcm[: windows * self._window_bytes])
        )
        self._forget(windows)
        return utterance

    def _forget(self, windows: int) -> None:
        if windows > 0:
            del self._kept[:windows]
            del self._pcm[: windows * self._window_bytes]
            self._first += windows
