"""The thread that decodes the utterances of all devices, several in one call.

Results return to the event loop through ``call_soon_threadsafe``. Abandoned utterances are not
decoded.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic

from vixio.providers.asr import Recognition
from vixio.providers.inference.thread import InferenceThread, settle
from vixio.providers.local_recogniser.models import OfflineModel, OnlineModel, RequestT

_ALIKE = 2.0
"""Largest ratio of lengths in a batch, because all are padded to the longest."""


class Utterance(Generic[RequestT]):
    """One utterance, created on the loop. ``pcm``: audio that the thread has not taken yet.

    The loop appends to ``pcm`` and then sets ``ended``. To abandon it, the loop replaces ``pcm``
    with an empty deque.
    """

    __slots__ = ("abandoned", "ended", "future", "on_partial", "pcm", "request", "state")

    def __init__(
        self,
        future: asyncio.Future[Recognition],
        request: RequestT,
        on_partial: Callable[[str, int], None] | None = None,
    ) -> None:
        """``on_partial``: called on the loop with the partial transcript and the bytes taken."""
        self.future = future
        self.request = request
        self.on_partial = on_partial
        self.pcm: deque[bytes] = deque()
        self.ended = False
        self.abandoned = False
        """Set by the loop: the result is no longer wanted."""
        self.state: Any = None
        """State of the library; only the thread uses it."""


class DecodeThread(InferenceThread[Utterance[RequestT]], Generic[RequestT]):
    """The base of both decoding threads.

    An utterance is submitted again for more audio, its end, or its abandonment.
    """

    def __init__(self, provider: str, loop: asyncio.AbstractEventLoop, max_batch: int) -> None:
        """``provider``: named in errors."""
        self._provider = provider
        self._loop = loop
        self._max_batch = max_batch
        super().__init__(f"vixio-{provider}")

    def _serve(self) -> None:
        try:
            self._decode()
        except RuntimeError:  # from _resolve: the loop is closed
            if not self._loop.is_closed():
                raise

    @abstractmethod
    def _decode(self) -> None:
        """Decode until :meth:`take` returns None."""

    def _resolve(self, utterance: Utterance[RequestT], outcome: Recognition | Exception) -> None:
        self._loop.call_soon_threadsafe(
            settle, utterance.future, outcome, self._provider, "decoding"
        )


class OfflineThread(DecodeThread[RequestT]):
    """Decodes whole utterances, those of similar length in one call."""

    def __init__(
        self,
        provider: str,
        model: OfflineModel[RequestT],
        loop: asyncio.AbstractEventLoop,
        max_batch: int,
    ) -> None:
        self._model = model
        self._waiting: deque[tuple[Utterance[RequestT], bytes]] = deque()
        super().__init__(provider, loop, max_batch if model.batched else 1)

    def _decode(self) -> None:
        while (incoming := self.take(block=not self._waiting)) is not None:
            self._waiting.extend((each, b"".join(each.pcm)) for each in incoming)
            batch = self._batch()
            if not batch:
                continue
            outcomes: Sequence[Recognition | Exception]
            try:
                outcomes = self._model.decode([(pcm, each.request) for each, pcm in batch])
            except Exception as error:  # noqa: BLE001 - any error of the library
                outcomes = [error] * len(batch)
            for (utterance, _), outcome in zip(batch, outcomes, strict=True):
                self._resolve(utterance, outcome)

    def _batch(self) -> list[tuple[Utterance[RequestT], bytes]]:
        """Remove and return the oldest waiting utterance and others of similar length."""
        batch: list[tuple[Utterance[RequestT], bytes]] = []
        others: deque[tuple[Utterance[RequestT], bytes]] = deque()
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


class OnlineThread(DecodeThread[RequestT]):
    """Decodes utterances while the user speaks, a step of each in one call."""

    def __init__(
        self,
        provider: str,
        model: OnlineModel[RequestT],
        loop: asyncio.AbstractEventLoop,
        max_batch: int,
    ) -> None:
        self._model = model
        self._open: dict[Utterance[RequestT], None] = {}
        super().__init__(provider, loop, max_batch if model.batched else 1)

    def _decode(self) -> None:
        while (incoming := self.take(block=not self._ready())) is not None:
            for utterance in incoming:
                self._guarded([utterance], partial(self._accept, utterance))
            ready = self._ready()[: self._max_batch]
            if ready:
                self._guarded(ready, partial(self._step, ready))
                for utterance in ready:  # to the end of the queue
                    if utterance in self._open:
                        del self._open[utterance]
                        self._open[utterance] = None
            for utterance in [each for each in self._open if each.ended and not each.pcm]:
                self._guarded([utterance], partial(self._finish, utterance))

    def _ready(self) -> list[Utterance[RequestT]]:
        return [each for each in self._open if self._model.ready(each.state)]

    def _guarded(self, utterances: Sequence[Utterance[RequestT]], work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # any error of the library
            if self._loop.is_closed():
                raise
            for utterance in utterances:
                self._open.pop(utterance, None)
                self._resolve(utterance, error)

    def _accept(self, utterance: Utterance[RequestT]) -> None:
        if utterance.abandoned or utterance.future.done():
            self._open.pop(utterance, None)
            utterance.state = None
            return
        if utterance.state is None:
            utterance.state = self._model.open(utterance.request)
            self._open[utterance] = None
        taken = 0
        waiting = utterance.pcm  # read once: the loop replaces it to abandon the utterance
        while waiting:
            pcm = waiting.popleft()
            taken += len(pcm)
            self._model.accept(utterance.state, pcm)
        self._partial(utterance, taken)

    def _step(self, utterances: Sequence[Utterance[RequestT]]) -> None:
        self._model.step([each.state for each in utterances])
        for utterance in utterances:
            self._partial(utterance, 0)

    def _partial(self, utterance: Utterance[RequestT], taken: int) -> None:
        if utterance.on_partial is not None:
            text = self._model.text(utterance.state)
            self._loop.call_soon_threadsafe(utterance.on_partial, text, taken)

    def _finish(self, utterance: Utterance[RequestT]) -> None:
        """Decode the rest of an utterance that has ended: a few steps, without batching."""
        del self._open[utterance]
        state = utterance.state
        self._model.end(state)
        while self._model.ready(state) and not utterance.abandoned:
            self._model.step([state])
        self._resolve(utterance, Recognition(self._model.text(state)))
        utterance.state = None
