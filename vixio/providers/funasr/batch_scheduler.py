"""The batch scheduler: which utterances the model decodes next, and which of them in one call.

The thread that reads from the server adds audio, and the model's thread takes work. Utterances that
end while the model is busy wait; the next call takes as many of them as fit.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE

QUIET: Final = 100
"""Peak, -50 dB. Quieter audio holds no speech, and a model would invent words for it."""
SHORTEST: Final = LISTEN_RATE // 10 * BYTES_PER_SAMPLE
"""Bytes, 0.1 s: no word is shorter, and the model's features need a minimum."""


@dataclass(slots=True, eq=False)
class Utterance:
    """One utterance: its audio, and the state of a streaming model."""

    number: int
    language: str
    hotwords: str
    audio: bytearray = field(default_factory=bytearray)
    """The whole utterance; for a streaming model the part that is not decoded yet."""
    length: int = 0
    """Bytes received in total."""
    peak: int = 0
    finished_at: float | None = None
    cache: dict[str, Any] = field(default_factory=dict)
    """State of the streaming model."""
    text: str = ""

    @property
    def hearable(self) -> bool:
        """Whether the utterance is long and loud enough to hold a word."""
        return self.length >= SHORTEST and self.peak > QUIET

    @property
    def key(self) -> tuple[str, str]:
        """Options that all utterances of one call share."""
        return self.language, self.hotwords


@dataclass(frozen=True, slots=True)
class Step:
    """The next audio of an utterance for a streaming model; ``final``: the last of it."""

    utterance: Utterance
    pcm: bytes
    final: bool


class BatchScheduler:
    """The queue of utterances between the thread that adds audio and the one that decodes."""

    def __init__(
        self,
        *,
        max_batch: int = 8,
        max_batch_seconds: float = 60.0,
        gather_seconds: float = 0.0,
        chunk_bytes: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``chunk_bytes``: size of a streaming model's step."""
        self._max_batch = max_batch
        self._max_batch_bytes = int(max_batch_seconds * LISTEN_RATE) * BYTES_PER_SAMPLE
        self._gather = gather_seconds
        self._chunk = chunk_bytes
        self._clock = clock
        self._changed = threading.Condition()
        self._utterances: OrderedDict[int, Utterance] = OrderedDict()
        """Those that are open or wait, the longest waiting first."""

    def set_chunk(self, chunk_bytes: int) -> None:
        """Set the size of a streaming model's step, once it is known."""
        self._chunk = chunk_bytes

    def open(self, number: int, language: str, hotwords: str) -> None:
        """Begin an utterance."""
        with self._changed:
            self._utterances[number] = Utterance(number, language, hotwords)

    def feed(self, number: int, pcm: bytes) -> None:
        """Add audio. Audio of a cancelled utterance is dropped."""
        samples = np.frombuffer(pcm, dtype="<i2", count=len(pcm) // BYTES_PER_SAMPLE)
        peak = max(int(samples.max()), -int(samples.min())) if samples.size else 0
        with self._changed:
            if (utterance := self._utterances.get(number)) is not None:
                utterance.audio += pcm
                utterance.length += len(pcm)
                utterance.peak = max(utterance.peak, peak)
                self._changed.notify()

    def finish(self, number: int) -> None:
        """Mark the utterance as ended: its transcript is due."""
        with self._changed:
            if (utterance := self._utterances.get(number)) is not None:
                utterance.finished_at = self._clock()
                self._utterances.move_to_end(number)
                self._changed.notify()

    def cancel(self, number: int) -> None:
        """Drop the utterance, with the result of a call that it is in."""
        with self._changed:
            self._utterances.pop(number, None)
            self._changed.notify()

    def done(self, utterance: Utterance) -> bool:
        """Remove ``utterance``; return whether it was still wanted."""
        with self._changed:
            return self._utterances.pop(utterance.number, None) is utterance

    def wanted(self, utterance: Utterance) -> bool:
        """Return whether ``utterance`` has not been cancelled."""
        with self._changed:
            return self._utterances.get(utterance.number) is utterance

    def next_batch(self) -> list[Utterance]:
        """Wait for utterances that have ended; return those of the next call, the oldest first.

        While other utterances are open, wait up to ``gather_seconds`` for them to end as well.
        """
        with self._changed:
            while True:
                waiting = [
                    (each.finished_at, each)
                    for each in self._utterances.values()
                    if each.finished_at is not None
                ]
                if not waiting:
                    self._changed.wait()
                    continue
                left = waiting[0][0] + self._gather - self._clock()
                all_over = len(waiting) == len(self._utterances)
                if left <= 0 or all_over or len(waiting) >= self._max_batch:
                    return self._fitting([each for _, each in waiting])
                self._changed.wait(left)

    def next_step(self) -> Step:
        """Wait for audio of any utterance and return the next chunk of one, round-robin."""
        with self._changed:
            while True:
                for utterance in self._utterances.values():
                    over = utterance.finished_at is not None
                    if over or len(utterance.audio) >= self._chunk:
                        pcm = bytes(utterance.audio[: self._chunk])
                        del utterance.audio[: self._chunk]
                        self._utterances.move_to_end(utterance.number)
                        return Step(utterance, pcm, over and not utterance.audio)
                self._changed.wait()

    def _fitting(self, waiting: list[Utterance]) -> list[Utterance]:
        """Return the utterances that fit into one call with the first.

        The model pads each to the longest of a call.
        """
        first = waiting[0]
        batch, longest = [first], first.length
        for utterance in waiting[1:]:
            longer = max(longest, utterance.length)
            if (
                len(batch) < self._max_batch
                and utterance.key == first.key
                and longer * (len(batch) + 1) <= self._max_batch_bytes
            ):
                batch.append(utterance)
                longest = longer
        return batch
