"""The thread that decodes the utterances of all devices, several in one call.

The event loop submits, the thread takes all that has come in; results go back with
``call_soon_threadsafe``. What nobody waits for any more is not decoded.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from vixio.core.errors import ProviderError
from vixio.providers.asr import Recognition
from vixio.providers.sherpa_onnx.asr_model import OfflineModel, OnlineModel
from vixio.providers.sherpa_onnx.folder import NAME

JOIN_SECONDS = 20.0
"""The thread cannot be interrupted in a call of its library; it dies with the process."""

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


class DecodeThread:
    """What both ways of decoding have in common. Made and called on the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, max_batch: int) -> None:
        self._loop = loop
        self._max_batch = max_batch
        self._changed = threading.Condition()
        self._incoming: dict[Utterance, None] = {}  # guarded by _changed, as the one below
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="vixio-sherpa-asr", daemon=True)
        self._thread.start()

    def submit(self, utterance: Utterance) -> None:
        """Say that there is more of ``utterance``: audio, its end, or that it was abandoned."""
        with self._changed:
            self._incoming[utterance] = None
            self._changed.notify()

    def stop(self) -> None:
        """Tell the thread to end after what it is decoding. What waits is left unresolved."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    async def join(self) -> None:
        """Wait until the thread has ended, or until the decoding in hand took too long."""
        await asyncio.to_thread(self._thread.join, JOIN_SECONDS)

    def _take(self, *, block: bool) -> list[Utterance] | None:
        """Return what came in, None when it is time to end."""
        with self._changed:
            while block and not self._incoming and not self._stopping:
                self._changed.wait()
            incoming, self._incoming = self._incoming, {}
            return None if self._stopping else list(incoming)

    def _work(self) -> None:
        try:
            self._serve()
        except RuntimeError:  # from _tell: the loop is closed, nobody waits any more
            if not self._loop.is_closed():
                raise

    def _serve(self) -> None:
        raise NotImplementedError

    def _tell(self, utterance: Utterance, outcome: Recognition | Exception) -> None:
        self._loop.call_soon_threadsafe(_resolve, utterance.future, outcome)


class OfflineThread(DecodeThread):
    """Decodes whole utterances, those of like length together."""

    def __init__(
        self, model: OfflineModel, loop: asyncio.AbstractEventLoop, max_batch: int
    ) -> None:
        self._model = model
        self._waiting: deque[tuple[Utterance, bytes]] = deque()
        super().__init__(loop, max_batch if model.kind.batched else 1)

    def _serve(self) -> None:
        while (incoming := self._take(block=not self._waiting)) is not None:
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
                self._tell(utterance, outcome)

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

    def _serve(self) -> None:
        while (incoming := self._take(block=not self._ready())) is not None:
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
                self._tell(utterance, error)

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
        self._tell(utterance, Recognition(self._model.text(state)))
        utterance.state = None


def _resolve(future: asyncio.Future[Recognition], outcome: Recognition | Exception) -> None:
    if future.done():  # cancelled, or failed by close
        return
    if isinstance(outcome, Recognition):
        future.set_result(outcome)
    elif isinstance(outcome, ProviderError):
        future.set_exception(outcome)
    else:
        failed = ProviderError(NAME, f"decoding failed ({type(outcome).__name__})")
        failed.__cause__ = outcome
        future.set_exception(failed)
