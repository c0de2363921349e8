"""One utterance in a worker: its audio, and where the speech in it begins."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import add
from random import Random
from typing import Final

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.providers.pocketsphinx.decoder import GrammarDecoder, SpokenGrammar

_BLOCK_BYTES: Final = LISTEN_RATE // 10 * BYTES_PER_SAMPLE  # 100 ms
_SLICE_BLOCKS: Final = 5  # some 20 ms of work
_WINDOW: Final = LISTEN_RATE // 50
_LOUD: Final = 250
_LOUD_WINDOWS: Final = 6
"""Speech has at least 120 ms above -42 dB and 4 times the quietest."""
_PRIME_WINDOWS: Final = 50
"""Decoding begins when there is one second from the first loud window on: the mean of its cepstra
(loudness and microphone) is taken from the utterance itself, so a decoder carries nothing over
from one speaker to the next."""
_AROUND_WINDOWS: Final = 15
_STILL: Final = 60
"""Peak of a window that is quieter than any room: what noise suppression, an unplugged microphone
or Opus DTX leave. The model has never heard such silence: with 0.3 s of it in front, it finds no
path through "hello" at all."""
_ROOM_RMS: Final = 20
"""Of the noise that such a window gets, -64 dB."""


def _room() -> Sequence[int]:
    """Return the noise of a quiet room, the same in each utterance, so that results repeat."""
    chance = Random(0)  # noqa: S311 - noise
    return array("h", (round(chance.gauss(0, _ROOM_RMS)) for _ in range(LISTEN_RATE)))


_ROOM: Final = _room()


class Utterance:
    """One utterance with its audio, which is kept until it ends: its grammar may change."""

    def __init__(self, spoken: SpokenGrammar, max_bytes: int) -> None:
        self.spoken = spoken
        self.audio = bytearray()
        self.finished = False
        self.decoder: GrammarDecoder | None = None
        self._decoded = 0
        """Bytes that the decoder has taken."""
        self._left = max_bytes
        self._loudness: list[int] = []
        """Peak of each window."""
        self._rest = b""
        """Less than a window: audio that has not been examined yet."""
        self._prime: tuple[int, int] | None = None
        """The windows that :meth:`prime` returns."""

    @property
    def cut(self) -> bool:
        """Whether it is longer than any sentence; the rest was not kept."""
        return self._left <= 0

    @property
    def workable(self) -> bool:
        """Whether a decoder has something to do for it."""
        if self.decoder is not None:
            return self.finished or self._left_to_decode >= _BLOCK_BYTES
        return self.finished or bool(self.prime())

    @property
    def decoded(self) -> bool:
        """Whether the decoder has taken all of it."""
        return self.finished and not self._left_to_decode

    @property
    def _left_to_decode(self) -> int:
        return max(0, len(self.audio) - self._decoded)

    def restart(self, spoken: SpokenGrammar) -> None:
        """Begin again over another grammar; the decoder has been taken away."""
        self.spoken = spoken
        self._decoded = 0

    @property
    def spoke(self) -> bool:
        """Whether there was anything but silence."""
        return len(self._loud()) >= _LOUD_WINDOWS

    @property
    def loud(self) -> list[range]:
        """What is no silence, in frames of 10 ms."""
        return [range(2 * window, 2 * window + 2) for window in self._loud()]

    def feed(self, pcm: bytes) -> None:
        """Take audio, up to the longest utterance.

        The result must not depend on how the audio was cut into pieces, so each window is
        examined once, with what was before it.
        """
        pcm = pcm[: max(self._left, 0) // 2 * 2]
        self._left -= len(pcm)
        self.audio += pcm
        samples = memoryview(self._rest + pcm).cast("h")
        whole = len(samples) // _WINDOW * _WINDOW
        self._rest = bytes(samples[whole:])
        for start in range(0, whole, _WINDOW):
            peak = max(map(abs, samples[start : start + _WINDOW : 4]))
            if peak < _STILL:
                self._add_room(samples[start : start + _WINDOW])
            self._loudness.append(peak)
            if self._prime is None and len(self._loudness) >= _PRIME_WINDOWS:
                self._find_prime(complete=False)

    def _add_room(self, window: memoryview) -> None:
        """Put the noise of a room into the window that is being examined."""
        place = len(self._loudness) * _WINDOW
        noise = _ROOM[place % LISTEN_RATE : place % LISTEN_RATE + _WINDOW]
        noisy = array("h", map(add, window, noise))
        self.audio[place * BYTES_PER_SAMPLE : (place + _WINDOW) * BYTES_PER_SAMPLE] = (
            noisy.tobytes()
        )

    def prime(self) -> bytes:
        """Return the first second of speech and its surroundings; empty until there is as much.

        Without the silence before it, which would pull the cepstral mean down in short words.
        """
        if self._prime is None and self.finished:
            self._find_prime(complete=True)
        if self._prime is None:
            return b""
        start, end = self._prime
        return bytes(
            self.audio[start * _WINDOW * BYTES_PER_SAMPLE : end * _WINDOW * BYTES_PER_SAMPLE]
        )

    def _find_prime(self, *, complete: bool) -> None:
        loud = self._loud()
        if len(loud) < _LOUD_WINDOWS:
            return
        first, last = loud[0], loud[-1]
        if complete or len(self._loudness) >= first + _PRIME_WINDOWS:
            end = min(first + _PRIME_WINDOWS, last + _AROUND_WINDOWS)
            self._prime = (max(0, first - _AROUND_WINDOWS), end)

    def decode_slice(self, decoder: GrammarDecoder) -> None:
        """Pass the next half second to the decoder, in blocks of equal length."""
        for _ in range(_SLICE_BLOCKS):
            if self._left_to_decode < (1 if self.finished else _BLOCK_BYTES):
                return
            decoder.process(bytes(self.audio[self._decoded : self._decoded + _BLOCK_BYTES]))
            self._decoded += _BLOCK_BYTES

    def _loud(self) -> list[int]:
        if not self._loudness:
            return []
        quiet = sorted(self._loudness)[len(self._loudness) // 10]
        mark = max(_LOUD, max(self._loudness) // 16, 4 * quiet)
        return [number for number, level in enumerate(self._loudness) if level >= mark]
