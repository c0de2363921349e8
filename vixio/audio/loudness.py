"""Loudness levelling: each voice comes out about equally loud, and none ever clips.

A voice's loudness is the root mean square of its speech, pauses left out (blocks are gated as in
ITU-R BS.1770, without its frequency weighting: voices differ little in that). It is remembered by
voice, so that a sentence begins at the right gain; within one the gain moves slowly. In front of
the ceiling stands a limiter that sees a block ahead. What is silent is not made louder.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vixio.core.audio import BYTES_PER_SAMPLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Blocks = NDArray[np.float32]

BLOCKS_PER_SECOND = 100
"""A block is measured as one, and the gain is a straight line within it."""

FULL_SCALE = 32_768.0

CEILING = 10 ** (-1 / 20)
"""No sample is louder than this part of full scale; the codec may overshoot by the rest."""

MAX_SAMPLE = CEILING * FULL_SCALE

SILENCE = 10 ** (-50 / 10)
"""Mean square below which a block is silent, of full scale."""

PAUSE = 10 ** (-15 / 10)
"""Mean square below which a block is no speech, of the loudest block of the sentence so far."""

MAX_BOOST_DB, MAX_CUT_DB = 12.0, 24.0
"""More boost would be mostly noise."""

MEMORY_S = 4.0
"""Of speech; what is older counts less and less."""

UNSURE_S = 0.3
"""For the first so much of a voice, the estimate leans to the target: syllables differ."""

NEW_S = 1.5
"""So much speech of a voice may be heard to be adjusted; then it is known."""


def energies(pcm: bytes, windows: int) -> list[float]:
    """Return the sum of the squared samples of each of ``windows`` equal parts of ``pcm``."""
    import numpy as np

    samples = np.frombuffer(pcm, "<i2").astype(np.float32).reshape(windows, -1)
    found: list[float] = np.einsum("ij,ij->i", samples, samples).tolist()
    return found


def _factor(decibels: float) -> float:
    return float(10 ** (decibels / 20))


STEP = _factor(6.0 / BLOCKS_PER_SECOND)
NEW_STEP = _factor(40.0 / BLOCKS_PER_SECOND)
RELEASE_STEP = _factor(40.0 / BLOCKS_PER_SECOND)
"""How far the gain moves in a block: of a known voice, of a new one, and back after a peak."""

CHANGED = 4.0
"""A sentence whose mean square is by this factor another is of a voice that was set anew."""

HANG_BLOCKS = 20
"""A pause this short belongs to the speech around it: its noise stays as it is."""

MAX_VOICES = 256


@dataclass(slots=True)
class VoiceLevel:
    """The mean square of a voice's speech, of full scale, over ``seconds`` of it."""

    mean_square: float = 0.0
    seconds: float = 0.0

    def add(self, loud: list[float]) -> None:
        """Take the mean squares of further blocks of speech."""
        new = len(loud) / BLOCKS_PER_SECOND
        if not loud:
            return
        known = min(self.seconds, MEMORY_S)
        total = self.mean_square * known + sum(loud) / BLOCKS_PER_SECOND
        self.mean_square = total / (known + new)
        self.seconds += new

    def settle(self, sentence: VoiceLevel) -> None:
        """Start again from a whole sentence, if it is far from what is remembered."""
        if sentence.seconds < UNSURE_S:
            return
        ratio = sentence.mean_square / self.mean_square
        if not 1 / CHANGED < ratio < CHANGED:
            self.mean_square, self.seconds = sentence.mean_square, sentence.seconds

    def estimate(self, target: float) -> float:
        """Return the level in dB of full scale; the less is known, the nearer to ``target``."""
        unsure = max(0.0, UNSURE_S - self.seconds)
        if unsure + self.seconds == 0.0:
            return target
        believed = unsure * 10 ** (target / 10) + self.seconds * self.mean_square
        return 10 * math.log10(believed / (unsure + self.seconds))


class VoiceLevels:
    """What is known of each voice; shared by all sessions of a process, on its event loop."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, VoiceLevel] = OrderedDict()

    def of(self, voice: str) -> VoiceLevel:
        """Return the level of ``voice``, to be read and added to."""
        level = self._levels.setdefault(voice, VoiceLevel())
        self._levels.move_to_end(voice)
        while len(self._levels) > MAX_VOICES:
            self._levels.popitem(last=False)
        return level


class Leveller:
    """One sentence of a voice, brought to ``target`` (dB of full scale, RMS of the speech).

    Holds back less than 20 ms until more comes, or :meth:`finish`.
    """

    def __init__(self, target: float, level: VoiceLevel, sample_rate: int) -> None:
        import numpy as np

        self._np = np
        self._target = target
        self._level = level
        self._size = sample_rate // BLOCKS_PER_SECOND
        self._to_mean_square = np.float32(1 / (self._size * FULL_SCALE**2))
        up = np.arange(1, self._size + 1, dtype=np.float32) / self._size
        self._ramps = np.stack((1 - up, up))  # the shares of both borders' gains in a block
        self._held = b""
        self._measured = 0  # blocks at the beginning of what is held
        self._gain: float | None = self._wanted() if level.seconds else None
        self._edge: float | None = None
        self._room = math.inf
        self._silent_blocks = HANG_BLOCKS
        self._loudest = 0.0
        self._sentence = VoiceLevel()

    def feed(self, pcm: bytes) -> bytes:
        """Take PCM, any amount, and return what of it is ready."""
        self._held += pcm
        blocks = len(self._held) // (self._size * BYTES_PER_SAMPLE)
        if blocks < 2:  # the limiter looks a block ahead
            return b""
        end = (blocks - 1) * self._size * BYTES_PER_SAMPLE
        levelled = self._level_blocks(self._held[: end + self._size * BYTES_PER_SAMPLE])
        self._held = self._held[end:]
        return levelled

    def finish(self) -> bytes:
        """Return the rest."""
        length = len(self._held) - len(self._held) % BYTES_PER_SAMPLE
        block = self._size * BYTES_PER_SAMPLE
        padded = self._held[:length] + bytes(-length % block + block)
        self._held = b""
        rest = self._level_blocks(padded)[:length] if length else b""
        self._level.settle(self._sentence)
        return rest

    def _level_blocks(self, pcm: bytes) -> bytes:
        """Return all blocks but the last, which is only looked at."""
        np = self._np
        blocks: Blocks = np.frombuffer(pcm, "<i2").astype(np.float32).reshape(-1, self._size)
        # Few blocks, much to decide for each: with so few numbers Python is faster than NumPy.
        powers: list[float] = (np.vecdot(blocks, blocks) * self._to_mean_square).tolist()
        peaks: list[float] = np.abs(blocks).max(axis=1).tolist()
        self._measure(powers[self._measured :])
        self._measured = 1
        edges = self._edges(powers, peaks)
        scaled = np.array((edges[:-1], edges[1:]), np.float32).T @ self._ramps
        scaled *= blocks[:-1]
        return bytes(np.rint(scaled, out=scaled).astype("<i2").tobytes())

    def _measure(self, powers: list[float]) -> None:
        speech = [power for power in powers if power > SILENCE]
        if not speech:
            return
        self._loudest = max(self._loudest, *speech)
        loud = [power for power in speech if power >= self._loudest * PAUSE]
        self._level.add(loud)
        self._sentence.add(loud)

    def _wanted(self) -> float:
        change = self._target - self._level.estimate(self._target)
        return _factor(min(max(change, -MAX_CUT_DB), MAX_BOOST_DB))

    def _edges(self, powers: list[float], peaks: list[float]) -> list[float]:
        """Return the gain at the border in front of each block."""
        wanted = self._wanted()
        gain = wanted if self._gain is None else self._gain
        step = NEW_STEP if self._level.seconds < NEW_S else STEP
        room, silent = self._room, self._silent_blocks
        if self._edge is None:
            edges, before, start = list[float](), 0.0, 0
        else:
            edges, before, start = [self._edge], peaks[0], 1
        following = (*powers[start + 1 :], 0.0)
        for power, peak, after in zip(powers[start:], peaks[start:], following, strict=True):
            if gain < wanted:
                gain = min(gain * step, wanted)
            elif gain > wanted:
                gain = max(gain / step, wanted)
            # Room up to the ceiling on either side, which after a peak comes back slowly.
            highest = peak if peak > before else before
            room *= RELEASE_STEP
            if room * highest > MAX_SAMPLE:
                room = MAX_SAMPLE / highest
            before = peak
            edge = gain if gain < room else room
            silent = 0 if power > SILENCE else silent + 1
            if silent > HANG_BLOCKS and after <= SILENCE and edge > 1.0:
                edge = 1.0
            edges.append(edge)
        self._gain, self._edge, self._room, self._silent_blocks = gain, edges[-1], room, silent
        return edges
