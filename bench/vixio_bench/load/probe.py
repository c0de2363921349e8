"""What the bench sees of the inside of the server: turns, listening backlog, loop lag, usage.

It subscribes to the turns' ends, reads the server's counters, and stands around one
provider interface, the VAD's, to see when each piece of microphone audio has been decided on.
"""

from __future__ import annotations

import asyncio
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from vixio.core.audio import LISTEN_RATE, pcm_seconds
from vixio.core.clock import now
from vixio.core.garbage import freeze_memory
from vixio.core.metrics import TurnTimeline
from vixio.core.session.events import TurnEnded
from vixio.core.tasks import cancel_and_wait
from vixio.providers.vad import VADProvider, VADStream
from vixio.server import Server
from vixio_bench.load.control import Handler, Json
from vixio_bench.load.providers import Delays
from vixio_bench.load.usage import LoopLag, Spread, cpu_by_thread, look
from vixio_bench.load.work import WorkSampler

STAGES: Final = ("turn_end", "transcript", "first_token", "first_sentence", "first_audio")
"""Each stage of a turn lasts from the mark of its name to the next; the last to first_frame."""

MANY_NOTES: Final = 1_000_000

_COLLECT_S: Final = 1.0
_KEEP_EVERY: Final = 4
"""Of a stream's pieces every fourth is noted: the notes must not be what fills the memory."""


class TimedVAD(VADProvider):
    """Another VAD, with a watch. ``lags``: milliseconds from capture to decision."""

    def __init__(self, inner: VADProvider) -> None:
        self._inner = inner
        self.name = inner.name
        self.window_samples = inner.window_samples
        self.lags = array("f")

    async def start(self) -> None:
        """Start the other."""
        await self._inner.start()

    def open(self) -> VADStream:
        """Open a stream of the other."""
        return _TimedStream(self._inner.open(), self)

    async def close(self) -> None:
        """Close the other."""
        await self._inner.close()


class _TimedStream(VADStream):
    """Compares audio time with the clock.

    A microphone runs in real time, so between two resets the n-th second of audio was captured n
    seconds after the first. Where decisions fall behind that, audio waits somewhere: in the kernel,
    the socket's queue, or the detector's. The quickest decision since the reset is taken to have
    waited for the detector alone.
    """

    def __init__(self, inner: VADStream, owner: TimedVAD) -> None:
        self._inner = inner
        self._owner = owner
        self._heard = 0.0
        self._base = float("inf")
        self._count = 0

    async def process(self, pcm: bytes) -> Sequence[float]:
        began = now()
        probabilities = await self._inner.process(pcm)
        decided = now()
        self._heard += pcm_seconds(pcm, LISTEN_RATE)
        # When capture of this stream began, if this piece had not waited before it got here.
        self._base = min(self._base, began - self._heard)
        self._count += 1
        if self._count % _KEEP_EVERY == 0:
            self._owner.lags.append((decided - self._base - self._heard) * 1000)
        return probabilities

    def reset(self) -> None:
        self._heard = 0.0
        self._base = float("inf")
        self._inner.reset()

    def close(self) -> None:
        self._inner.close()


class Probe:
    """Answers the bench's questions about one server process."""

    def __init__(
        self, app: Server, vad: TimedVAD | None, delays: Delays, max_notes: int = MANY_NOTES
    ) -> None:
        """``max_notes``: turns, and samples of each lag, that are kept; the oldest go first."""
        self._app = app
        self._events = app.host.events.subscribe(MANY_NOTES)
        self._vad = vad
        self._delays = delays
        self._lag = LoopLag()
        self._work = WorkSampler()
        self._max_notes = max_notes
        self._turns: deque[Json] = deque(maxlen=max_notes)
        self._turns_seen = self._answered = 0
        self._counted: dict[str, int] = {}
        self._threads_before: dict[str, float] = {}
        self._collecting: asyncio.Task[None] | None = None

    def handlers(self) -> dict[str, Handler]:
        """Return what can be asked."""
        return {
            "begin": self._begin,
            "now": self._now,
            "figures": self._figures,
            "delays": self._set_delays,
            "loaded": self._loaded,
        }

    def start(self) -> None:
        """Begin to watch."""
        self._lag.start()
        self._work.start()
        self._collecting = asyncio.create_task(self._collect_all())

    async def stop(self) -> None:
        """Watch no more."""
        self._work.stop()
        await self._lag.stop()
        self._events.close()
        await cancel_and_wait(self._collecting)

    async def _loaded(self, _: Json) -> Json:
        await self._app.loaded()
        freeze_memory()
        return {}

    async def _begin(self, _: Json) -> Json:
        """Forget all figures so far: what follows is measured."""
        self._collect()
        self._turns.clear()
        self._turns_seen = self._answered = 0
        self._lag.reset()
        self._work.reset()
        if self._vad is not None:
            self._vad.lags = array("f")
        self._counted = self._app.counters.snapshot()
        self._threads_before = cpu_by_thread()
        return await self._now({})

    async def _now(self, _: Json) -> Json:
        carriers = filter(None, (self._app.transport, self._app.mqtt))
        return {
            **asdict(look()),
            "turns": self._turns_seen,
            "connected": sum(each.stats()["connected"] for each in carriers),
            "lag_p99": Spread.of(self._lag.lags[-250:]).p99,
        }

    async def _figures(self, _: Json) -> Json:
        self._collect()
        counters = self._app.counters.snapshot()
        by_thread = {
            name: seconds - self._threads_before.get(name, 0.0)
            for name, seconds in cpu_by_thread().items()
        }
        return {
            "now": await self._now({}),
            "cpu_by_thread": by_thread,
            "work": self._work.seconds(by_thread),
            "turns": list(self._turns),
            "answered": self._answered,
            "loop_lag_ms": asdict(Spread.of(self._lag.lags)),
            "decision_lag_ms": asdict(Spread.of(self._vad.lags if self._vad else ())),
            "counters": {
                name: count - self._counted.get(name, 0)
                for name, count in counters.items()
                if count != self._counted.get(name, 0)
            },
        }

    async def _set_delays(self, new: Json) -> Json:
        for name, value in new.items():
            setattr(self._delays, name, value)
        return {}

    async def _collect_all(self) -> None:
        while True:
            await asyncio.sleep(_COLLECT_S)
            self._collect()

    def _collect(self) -> None:
        """Note the turns that ended since the last time."""
        for event in self._events.take():
            if isinstance(event, TurnEnded):
                self._turns.append(_row(event.device_id, event.timeline))
                self._turns_seen += 1
                self._answered += event.timeline.outcome == "answered"
        for lags in (self._lag.lags, *((self._vad.lags,) if self._vad is not None else ())):
            if len(lags) > 2 * self._max_notes:
                del lags[: -self._max_notes]


def _row(device: str, timeline: TurnTimeline) -> Json:
    """Return a turn's stages in milliseconds, None for what it did not reach.

    The time for which the first frame waited for the device is in ``held``, not in a stage.
    """
    marks = dict(timeline.marks)
    if "first_frame" in marks:
        marks["first_frame"] -= timeline.held
    ends = (*STAGES[1:], "first_frame")
    stages = [
        round((marks[end] - marks[start]) * 1000, 3) if start in marks and end in marks else None
        for start, end in zip(STAGES, ends, strict=True)
    ]
    spoken = "turn_end" in marks and "first_frame" in marks
    return {
        "device": device,
        "outcome": timeline.outcome,
        "stages": stages,
        "held": round(timeline.held * 1000, 3) if "first_frame" in marks else None,
        "share": round((marks["first_frame"] - marks["turn_end"]) * 1000, 3) if spoken else None,
    }
