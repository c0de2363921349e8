"""The ASR station's partial results."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from itertools import pairwise
from typing import Any

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.chunk import (
    Abort,
    AudioIn,
    Chunk,
    PartialTranscript,
    Transcript,
    TurnDropped,
    TurnEnded,
    TurnStarted,
)
from vixio.core.clock import now
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.station import StationContext
from vixio.core.tools.toolset import ToolSet
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.stations.asr import MAX_TRANSCRIPT_CHARS, ASRStation
from vixio.testing import ScriptedASR, run_virtual


class Bench:
    """The station alone, with all that it passes on."""

    def __init__(self, asr: ASRProvider) -> None:
        self.made: list[Chunk] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.context = StationContext("s", "d", History(), ToolSet(), Counters(), self._spawn)
        self.station = ASRStation(asr)
        self.station.bind(self.context, self._emit)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.create_task(work))

    async def _emit(self, chunks: Sequence[Chunk]) -> None:
        self.made += chunks

    async def feed(self, *chunks: Chunk) -> None:
        for chunk in chunks:
            await self.station.feed(chunk, now())

    async def speak(self, seconds: float) -> None:
        """Feed audio in real time."""
        for _ in range(round(seconds / 0.06)):
            await self.feed(AudioIn(bytes(pcm_bytes(0.06, LISTEN_RATE)), now()))
            await asyncio.sleep(0.06)

    async def finished(self) -> None:
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def partials(self, turn_id: int = 0) -> list[str]:
        return [
            chunk.text
            for chunk in self.made
            if isinstance(chunk, PartialTranscript) and turn_id in (0, chunk.turn_id)
        ]


def test_they_grow_until_the_transcript() -> None:
    async def conversation() -> None:
        bench = Bench(ScriptedASR(["turn on the lamp"], words_per_second=2.0))
        await bench.feed(TurnStarted(1))
        await bench.speak(2.4)
        await bench.feed(TurnEnded(1, "silence"))
        await bench.finished()
        assert bench.partials() == ["turn", "turn on", "turn on the", "turn on the lamp"]
        assert isinstance(bench.made[-1], Transcript)
        assert bench.context.partial == PartialTranscript(1, "turn on the lamp")

    run_virtual(conversation())


def test_a_recogniser_without_them_gives_none() -> None:
    async def conversation() -> None:
        bench = Bench(ScriptedASR(["turn on the lamp"]))
        await bench.feed(TurnStarted(1))
        await bench.speak(2.4)
        await bench.feed(TurnEnded(1, "silence"))
        await bench.finished()
        assert bench.partials() == []

    run_virtual(conversation())


class Late(ASRProvider):
    """Reports partial results whenever the test does, for any of its streams."""

    name = "late"

    def __init__(self) -> None:
        self.streams: list[LateStream] = []

    async def start(self) -> None: ...

    def open(self, hints: SpeechHints) -> ASRStream:
        self.streams.append(LateStream())
        return self.streams[-1]

    async def close(self) -> None: ...


class LateStream(ASRStream):
    async def feed(self, pcm: bytes) -> None: ...

    async def finish(self) -> Recognition:
        await asyncio.sleep(1)
        return Recognition("the words")

    async def close(self) -> None: ...


def test_turn_ids_never_decrease_and_none_follows_the_transcript() -> None:
    async def conversation() -> None:
        asr = Late()
        bench = Bench(asr)
        for turn_id in (1, 2):
            await bench.feed(TurnStarted(turn_id))
            await asyncio.sleep(0.1)
            for stream in asr.streams:
                stream.report_partial(f"in turn {turn_id}")
                await asyncio.sleep(0.1)
            await bench.feed(TurnEnded(turn_id, "silence"))
        await bench.finished()
        for stream in asr.streams:
            stream.report_partial("too late")
            await asyncio.sleep(0.1)
        numbers = [chunk.turn_id for chunk in bench.made if isinstance(chunk, PartialTranscript)]
        assert numbers == [1, 2]
        assert all(one <= next_ for one, next_ in pairwise(numbers))
        assert bench.partials() == ["in turn 1", "in turn 2"]

    run_virtual(conversation())


def test_an_utterance_that_is_called_off_gives_no_more() -> None:
    async def conversation() -> None:
        for end in (TurnDropped(1), Abort("button")):
            asr = Late()
            bench = Bench(asr)
            await bench.feed(TurnStarted(1))
            await asyncio.sleep(0.1)
            await bench.feed(end)
            asr.streams[0].report_partial("too late")
            await bench.finished()
            assert bench.partials() == []

    run_virtual(conversation())


def test_they_are_bounded_and_valid() -> None:
    async def conversation() -> None:
        asr = Late()
        bench = Bench(asr)
        await bench.feed(TurnStarted(1))
        await asyncio.sleep(0.1)
        for text in ("a" * (2 * MAX_TRANSCRIPT_CHARS), "\ud83d half", "  "):
            asr.streams[0].report_partial(text)
            await asyncio.sleep(0.1)
        await bench.station.close()
        await bench.finished()
        assert bench.partials() == ["a" * MAX_TRANSCRIPT_CHARS, "? half"]

    run_virtual(conversation())
