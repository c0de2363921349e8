"""The thread that decodes the utterances of all devices, several in one call.

Results go back to the event loop with ``call_soon_threadsafe``. Abandoned utterances are not
decoded.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from vixio.providers.asr import Recognition
from vixio.providers.inference.thread import InferenceThread, settle
from vixio.providers.sherpa_onnx.asr_model import OfflineModel, OnlineModel
from vixio.providers.sherpa_onnx.folder import NAME

_ALIKE = 2.0
"""Utterances of one batch are filled up to the longest of them: none may be longer by more."""


class Utterance:
    """One utterance, made on the loop. ``pcm``: what the thread has not taken yet.

    The loop adds to ``pcm`` and then sets ``ended``; who abandons it puts an empty one there.
    """

    __slots__ = ("abandoned", "ended", "expected", "future", "on_partial", "pcm", "state")

    def __init__(
        self,
        future: asyncio.Future[Recognition],
        on_partial: Callable[[str, int], None] | None = None,
        expected: Sequence[str] = (),
    ) -> None:
        """``on_partial``: is told, on the loop, the words so far and how many bytes were taken.

        ``expected``: words that may well be said.
        """
        self.future = future
        self.expected = expected
        self.on_partial = on_partial
        self.pcm: deque[bytes] = deque()
        self.ended = False
        self.abandoned = False
        """Set by the loop: nobody waits for it."""
        self.state: Any = None
        """The library's, of the thread alone."""


class DecodeThread(InferenceThread[Utterance]):
    """What both ways of decoding have in common.

    Submitting an utterance reports more of it: audio, its end, or that it was abandoned.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, max_batch: int) -> None:
        self._loop = loop
        self._max_batch = max_batch
        super().__init__("vixio-sherpa-asr")

    def _serve(self) -> None:
        try:
            self._decode()
        except RuntimeError:  # from _resolve: the loop is closed
            if not self._loop.is_closed():
                raise

    @abstractmethod
    def _decode(self) -> None:
        """Decode until :meth:`take` returns None."""

    def _resolve(self, utterance: Utterance, outcome: Recognition | Exception) -> None:
        self._loop.call_soon_threadsafe(settle, utterance.future, outcome, NAME, "decoding")


class OfflineThread(DecodeThread):
    """Decodes whole utterances, those of like length together."""

    def __init__(
        self, model: OfflineModel, loop: asyncio.AbstractEventLoop, max_batch: int
    ) -> None:
        self._model = model
        self._waiting: deque[tuple[Utterance, bytes]] = deque()
        super().__init__(loop, max_batch if model.kind.batched else 1)

    def _decode(self) -> None:
        while (incoming := self.take(block=not self._waiting)) is not None:
            self._waiting.extend((each, b"".join(each.pcm)) for each in incoming)
            batch = self._batch()
            if not batch:
                continue
            outcomes: Sequence[Recognition | Exception]
            try:
                outcomes = self._model.decode([(pcm, each.expected) for each, pcm in batch])
            except Exception as error:  # noqa: BLE001 - the library throws what it likes
                outcomes = [error] * len(batch)
            for (utterance, _), outcome in zip(batch, outcomes, strict=True):
                self._resolve(utterance, outcome)

    def _batch(self) -> list[tuple[Utterance, bytes]]:
        """Take the oldest utterance and others like it out of those that wait."""
        batch: list[tuple[Utterance, bytes]] = []
        others: deque[tuple[Utterance, bytes]] = deque()
        while self._waiting and len(batch) < self._max_batch:
            utterance, pcm = self._waiting.popleft()
            if utterance.abandoned:
                continue
            lengths = [len(each) for _, each in batch] + [len(pcm)]
            if batch and max(lengths) > _ALIKE * max(min(lengths), 1):
                others.append((utterance, pcm))
            else:
                batch.append((utterance, pcm))
        self._waiting.extendleft(reversed(others))
        return batch


class OnlineThread(DecodeThread):
    """Decodes utterances while they grow, a step of each in one call."""

    def __init__(self, model: OnlineModel, loop: asyncio.AbstractEventLoop, max_batch: int) -> None:
        self._model = model
        self._open: dict[Utterance, None] = {}
        super().__init__(loop, max_batch if model.kind.batched else 1)

    def _decode(self) -> None:
        while (incoming := self.take(block=not self._ready())) is not None:
            for utterance in incoming:
                self._guarded([utterance], partial(self._accept, utterance))
            ready = self._ready()[: self._max_batch]
            if ready:
                self._guarded(ready, partial(self._step, ready))
                for utterance in ready:  # to the end of the line
                    if utterance in self._open:
                        del self._open[utterance]
                        self._open[utterance] = None
            for utterance in [each for each in self._open if each.ended and not each.pcm]:
                self._guarded([utterance], partial(self._finish, utterance))

    def _ready(self) -> list[Utterance]:
        return [each for each in self._open if self._model.ready(each.state)]

    def _guarded(self, utterances: Sequence[Utterance], work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # the library throws what it likes
            if self._loop.is_closed():
                raise
            for utterance in utterances:
                self._open.pop(utterance, None)
                self._resolve(utterance, error)

    def _accept(self, utterance: Utterance) -> None:
        if utterance.abandoned or utterance.future.done():
            self._open.pop(utterance, None)
            utterance.state = None
            return
        if utterance.state is None:
            utterance.state = self._model.open(utterance.expected)
            self._open[utterance] = None
        taken = 0
        waiting = utterance.pcm  # who abandons it puts another in its place
        while waiting:
            pcm = waiting.popleft()
            taken += len(pcm)
            self._model.accept(utterance.state, pcm)
        self._partial(utterance, taken)

    def _step(self, utterances: Sequence[Utterance]) -> None:
        self._model.step([each.state for each in utterances])
        for utterance in utterances:
            self._partial(utterance, 0)

    def _partial(self, utterance: Utterance, taken: int) -> None:
        if utterance.on_partial is not None:
            text = self._model.text(utterance.state)
            self._loop.call_soon_threadsafe(utterance.on_partial, text, taken)

    def _finish(self, utterance: Utterance) -> None:
        """Flush an utterance that has ended. Its last steps are few: they are run alone."""
        del self._open[utterance]
        state = utterance.state
        self._model.end(state)
        while self._model.ready(state) and not utterance.abandoned:
            self._model.step([state])
        self._resolve(utterance, Recognition(self._model.text(state)))
        utterance.state = None
