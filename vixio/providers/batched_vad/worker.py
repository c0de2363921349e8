"""Runs the windows of all devices: many in one call of a thread, or a few on the event loop.

A device's windows depend on each other, so a batch holds the windows of one packet of each device
(:data:`~vixio.providers.batched_vad.direct.MAX_WINDOWS`), and further ones go into the next
batches. In a batch of 8 devices, Silero takes half the time per window, and waking the thread costs
more than computing a window. Therefore the thread collects windows
until ``interval`` seconds after the start of the previous round. Two kinds of window do not wait:
one after a pause of all devices, and one of a device that was served less than ``interval`` ago,
because that device is catching up after a stall.

While few devices send, the loop runs a packet's windows itself, in :meth:`BatchWorker.run_here`.
Both ways use the same model and the same state; the thread's lock keeps them apart.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from vixio.core.errors import ProviderError
from vixio.providers.batched_vad.direct import MAX_WINDOWS, DirectRuns
from vixio.providers.inference.thread import InferenceThread, settle


class WindowModel(Protocol):
    """A network and the state of all devices, one slot each. Called by one thread at a time.

    ``name``: the provider's, for errors. ``window_bytes``: PCM of one window.
    """

    name: str
    window_bytes: int

    def forget(self, slot: int) -> None:
        """Reset the state of ``slot``; called before the first window of each owner."""

    def run(self, slots: Sequence[int], pieces: Sequence[bytes]) -> list[list[float]]:
        """Return the probabilities of the successive windows of each of ``slots``, all different.

        Each piece is PCM of 1 to MAX_WINDOWS whole windows.
        """

    def release(self, slot: int) -> None:
        """Free the resources of ``slot``; it may be used again after :meth:`forget`."""

    def close(self) -> None:
        """Free all resources; the last call."""


class Lane:
    """One device's slot and its queue of jobs."""

    __slots__ = ("closed", "jobs", "ran", "slot")

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.closed = False
        """Set by the loop; jobs that still wait are then not run."""
        self.ran = -math.inf
        """Time of the last run of its windows (``time.monotonic``)."""
        self.jobs: deque[Job] = deque()
        """Only the worker thread uses it. A lane with jobs is in the worker's queue."""


class Job:
    """Whole windows of one device, and the future of their probabilities."""

    __slots__ = ("done", "forget", "future", "lane", "pcm", "probabilities")

    def __init__(
        self, lane: Lane, pcm: bytes, future: asyncio.Future[list[float]], *, forget: bool
    ) -> None:
        self.lane = lane
        self.pcm = pcm
        self.future = future
        self.forget = forget
        """Reset the state first."""
        self.done = 0
        """Bytes of ``pcm`` that have been run."""
        self.probabilities: list[float] = []


class BatchWorker(InferenceThread["Job | Lane"]):
    """The thread. The event loop given at creation calls its methods."""

    def __init__(
        self,
        model: WindowModel,
        loop: asyncio.AbstractEventLoop,
        *,
        max_batch: int,
        interval: float,
    ) -> None:
        self._model = model
        self._loop = loop
        self._max_batch = max_batch
        self._interval = interval
        self._idle = False  # guarded by _changed, as are the two below
        self._gathering = False
        self._urgent = False
        self._turn: deque[Lane] = deque()
        self._direct = DirectRuns()
        super().__init__(f"vixio-vad-{model.name}")

    def submit(self, item: Job | Lane) -> None:
        """Queue a job, or a closed lane for its release. A job's future is resolved on the loop."""
        urgent = isinstance(item, Job) and time.monotonic() - item.lane.ran < self._interval
        with self._changed:
            self._incoming[item] = None
            self._urgent |= urgent
            if self._idle or (urgent and self._gathering):
                self._idle = self._gathering = False
                self._changed.notify()

    def run_here(self, lane: Lane, pcm: bytes, *, forget: bool) -> list[float] | None:
        """Run whole windows of ``lane`` on the event loop and return their probabilities.

        None: they have to be submitted, because the thread is busy or the better place for them.
        Raises whatever the model raises.
        """
        if not self._direct.allows(time.monotonic(), len(pcm) // self._model.window_bytes):
            return None
        # The thread is idle only when no job is left, so windows stay in order; and it cannot
        # leave its wait, and so not touch the model, while the lock is held.
        with self._changed:
            if not self._idle or self._stopping:
                return None
            worked = time.thread_time()
            try:
                if forget:
                    self._model.forget(lane.slot)
                return self._model.run((lane.slot,), (pcm,))[0]
            finally:
                lane.ran = time.monotonic()
                self._direct.took(time.thread_time() - worked, lane.ran)

    def _serve(self) -> None:
        try:
            self._infer()
        finally:
            self._model.close()

    def _infer(self) -> None:
        last = -math.inf
        while self._take_in(block=not self._turn):
            if not self._gather(last + self._interval):
                return
            last = time.monotonic()
            while self._turn:
                if finished := self._run_batch():
                    try:
                        self._loop.call_soon_threadsafe(self._resolve, finished)
                    except RuntimeError:  # the loop is closed
                        return
                # New jobs join the later windows of a long job, but only once per interval: else
                # batches would shrink to the jobs that arrive during a small one. The flags are
                # read without the lock; a stale value only delays a job by one batch.
                now = time.monotonic()
                if self._urgent or self._stopping or now - last >= self._interval:
                    last = now
                    if not self._take_in(block=False):
                        return

    def _gather(self, until: float) -> bool:
        """Collect windows ``until`` that time, or until one is urgent. False: stop."""
        with self._changed:
            while not self._urgent and not self._stopping:
                if (left := until - time.monotonic()) <= 0:
                    break
                self._gathering = True
                self._changed.wait(left)
            self._gathering = False
        return self._take_in(block=False)

    def _take_in(self, *, block: bool) -> bool:
        """Move submitted jobs to their lanes; ``block``: wait for the first. False: stop."""
        with self._changed:
            while block and not self._incoming and not self._stopping:
                self._idle = True
                self._changed.wait()
            self._idle = False
            incoming, self._incoming = self._incoming, {}
            if not block:
                self._urgent = False
            stopping = self._stopping
        for item in incoming:
            if isinstance(item, Lane):
                self._model.release(item.slot)
                continue
            job, lane = item, item.lane
            if not lane.jobs:
                self._turn.append(lane)
            lane.jobs.append(job)
        return not stopping

    def _run_batch(self) -> list[tuple[Job, Exception | None]]:
        """Run the next windows of each lane in the queue; return the completed jobs."""
        lanes: list[Lane] = []
        slots: list[int] = []
        fresh: list[int] = []
        pieces: list[bytes] = []
        finished: list[tuple[Job, Exception | None]] = []
        size = self._model.window_bytes
        left = self._max_batch * size
        while self._turn and left > 0:
            lane = self._turn.popleft()
            if lane.closed:
                finished.extend((job, self._closed()) for job in lane.jobs)
                lane.jobs.clear()
                continue
            job = lane.jobs[0]
            if job.forget and not job.done:
                fresh.append(lane.slot)
            lanes.append(lane)
            slots.append(lane.slot)
            piece = job.pcm[job.done : job.done + min(left, MAX_WINDOWS * size)]
            pieces.append(piece)
            left -= len(piece)
        if not lanes:
            return finished
        error: Exception | None = None
        answers: list[list[float]] = []
        try:
            for slot in fresh:
                self._model.forget(slot)
            answers = self._model.run(slots, pieces)
        except Exception as raised:  # noqa: BLE001 - any error of the runtime fails these jobs
            error = raised
        now = time.monotonic()
        for position, lane in enumerate(lanes):
            lane.ran = now
            job = lane.jobs[0]
            job.done += len(pieces[position])
            if error is None:
                job.probabilities += answers[position]
            if error is not None or job.done == len(job.pcm):
                lane.jobs.popleft()
                finished.append((job, error))
            if lane.jobs:
                self._turn.append(lane)
        return finished

    def _closed(self) -> ProviderError:
        return ProviderError(self._model.name, "the stream is closed", retryable=False)

    def _resolve(self, finished: list[tuple[Job, Exception | None]]) -> None:
        for job, error in finished:
            settle(job.future, error or job.probabilities, self._model.name, "inference")
