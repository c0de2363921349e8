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
    Values = NDArray[np.float64]

BLOCKS_PER_SECOND = 100
"""A block is measured as one, and the gain is a straight line within it."""

FULL_SCALE = 32_768.0

CEILING = 10 ** (-1 / 20)
"""No sample is louder than this part of full scale; the codec may overshoot by the rest."""

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

SLEW_DB_S, NEW_SLEW_DB_S, RELEASE_DB_S = 6.0, 40.0, 40.0
"""How fast the gain moves: of a known voice, of a new one, and back after a peak."""

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

    def add(self, loud: Values) -> None:
        """Take the mean squares of further blocks of speech."""
        new = len(loud) / BLOCKS_PER_SECOND
        if not len(loud):
            return
        known = min(self.seconds, MEMORY_S)
        total = self.mean_square * known + float(loud.sum()) / BLOCKS_PER_SECOND
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
        self._ramp = (np.arange(self._size, dtype=np.float32) + 1) / self._size
        self._held = b""
        self._measured = 0  # blocks at the beginning of what is held
        self._gain_db: float | None = self._wanted() if level.seconds else None
        self._edge: float | None = None
        self._room_db = math.inf
        self._since_speech = HANG_BLOCKS + 1
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
        samples = np.frombuffer(pcm, "<i2").astype(np.float32) / FULL_SCALE
        blocks: Blocks = samples.reshape(-1, self._size)
        power: Values = np.einsum("ij,ij->i", blocks, blocks, dtype=np.float64) / self._size
        self._measure(power[self._measured :])
        self._measured = 1
        edges = self._edges(power, np.abs(blocks).max(axis=1).astype(np.float64))
        steps = np.diff(edges)
        gains = edges[:-1, None] + steps[:, None] * self._ramp
        scaled = np.rint(blocks[:-1] * gains * FULL_SCALE)
        return bytes(np.clip(scaled, -32_768, 32_767).astype("<i2").tobytes())

    def _measure(self, power: Values) -> None:
        speech = power[power > SILENCE]
        if not len(speech):
            return
        self._loudest = max(self._loudest, float(speech.max()))
        loud = speech[speech >= self._loudest * PAUSE]
        self._level.add(loud)
        self._sentence.add(loud)

    def _wanted(self) -> float:
        change = self._target - self._level.estimate(self._target)
        return min(max(change, -MAX_CUT_DB), MAX_BOOST_DB)

    def _edges(self, power: Values, peaks: Values) -> Values:
        """Return the gain at the borders of the blocks, from before the first on."""
        np = self._np
        count = len(power)
        numbers = np.arange(count)
        wanted = self._wanted()
        now = wanted if self._gain_db is None else self._gain_db
        new = self._level.seconds < NEW_S
        step = (NEW_SLEW_DB_S if new else SLEW_DB_S) / BLOCKS_PER_SECOND
        way = np.clip(wanted - now, -step * numbers, step * numbers)
        slow = 10 ** ((now + way) / 20)
        # A border belongs to the speech if the block on either side of it does.
        active = power > SILENCE
        last = np.maximum.accumulate(np.where(active, numbers, -self._since_speech))
        speech = numbers - last <= HANG_BLOCKS
        speech[:-1] |= speech[1:]
        gains = np.where(speech, slow, np.minimum(slow, 1.0))
        # Room up to the ceiling, which after a peak comes back slowly.
        room_db = 20 * np.log10(CEILING / np.maximum(peaks, 1e-6))
        room_db[1:] = np.minimum(room_db[1:], room_db[:-1])
        back = RELEASE_DB_S / BLOCKS_PER_SECOND * numbers
        falling = np.minimum.accumulate(np.append(self._room_db, room_db[1:] - back[1:]))
        room_db = np.minimum(room_db, falling + back)
        edges: Values = np.minimum(gains, 10 ** (room_db / 20))
        if self._edge is not None:
            edges[0] = self._edge
        self._edge = float(edges[-1])
        self._gain_db = now + float(way[-1])
        self._room_db = float(room_db[-1])
        self._since_speech = min(int(count - 1 - last[-1]), HANG_BLOCKS + 1)
        return edges
