"""The ASR station: partial results, and hints that change during an utterance."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.chunk import (
    Abort,
    Alternative,
    AudioIn,
    Chunk,
    PartialTranscript,
    Transcript,
    TurnDropped,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from vixio.core.clock import now
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.replacements import Replacements
from vixio.core.station import StationContext
from vixio.core.tools.toolset import DEVICE_SOURCE, ToolSet
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.stations.asr import (
    GATHERED_CHUNKS,
    MAX_SOUND_BYTES,
    MAX_TRANSCRIPT_CHARS,
    QUEUE_CHUNKS,
    ASRStation,
    KeepSound,
)
from vixio.testing import ScriptedASR, run_virtual


class Bench:
    """The station alone, with all that it passes on."""

    def __init__(
        self,
        asr: ASRProvider,
        corrections: Mapping[str, str] | None = None,
        keep: KeepSound | None = None,
    ) -> None:
        self.made: list[Chunk] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.context = StationContext("s", "d", History(), ToolSet(), Counters(), self._spawn)
        own = Replacements.of(corrections or {})
        self.station = ASRStation(asr, corrections=own, keep=keep)
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


def test_they_are_corrected_like_the_transcript() -> None:
    async def conversation() -> None:
        bench = Bench(ScriptedASR(["ask weak see oh now"], words_per_second=2.0),
                      {"weak see oh": "Vixio"})  # fmt: skip
        await bench.feed(TurnStarted(1))
        await bench.speak(3.0)
        await bench.feed(TurnEnded(1, "silence"))
        await bench.finished()
        assert bench.partials()[-3:] == ["ask weak see", "ask Vixio", "ask Vixio now"]
        assert bench.made[-1] == Transcript(1, "ask Vixio now")

    run_virtual(conversation())


def test_so_is_what_may_have_been_said_instead() -> None:
    async def conversation() -> None:
        among = tuple(Alternative(f"ask weak see oh for {word}", word) for word in ("two", "ten"))
        asr = ScriptedASR([Recognition(among[0].text, alternatives=among)])
        bench = Bench(asr, {"weak see oh": "Vixio"})
        await bench.feed(TurnStarted(1))
        await bench.speak(0.3)
        await bench.feed(TurnEnded(1, "silence"))
        await bench.finished()
        (heard,) = [chunk for chunk in bench.made if isinstance(chunk, Transcript)]
        told = [each.text for each in heard.alternatives]
        assert told == ["ask Vixio for two", "ask Vixio for ten"]
        assert heard.text == told[0]

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


def test_the_stations_behind_know_what_is_called_off() -> None:
    async def conversation() -> None:
        bench = Bench(ScriptedASR(delay=1.0))
        for turn_id in (1, 2):
            await bench.feed(TurnStarted(turn_id), TurnEnded(turn_id, "silence"))
        passed_on = await bench.station.feed(Abort("button"), now())
        assert passed_on == (TurnDropped(1), TurnDropped(2), Abort("button"))
        await bench.finished()
        assert bench.made == []

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
        assert bench.partials() == ["a" * MAX_TRANSCRIPT_CHARS, "\ufffd half"]

    run_virtual(conversation())


LAMP = ToolDefinition("lamp", "")


class Gathering(Late):
    """Keeps the pieces in which it is fed."""

    def __init__(self, *, gathers: bool) -> None:
        super().__init__()
        self._gathers = gathers
        self.pieces: list[bytes] = []

    def open(self, hints: SpeechHints) -> ASRStream:
        kind = GatheringStream if self._gathers else PieceStream
        return kind(self.pieces)


class PieceStream(LateStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def feed(self, pcm: bytes) -> None:
        self._pieces.append(pcm)


class GatheringStream(PieceStream):
    gathers = True


@pytest.mark.parametrize("number", [1, GATHERED_CHUNKS - 1, GATHERED_CHUNKS, 3 * QUEUE_CHUNKS + 5])
@pytest.mark.parametrize("gathers", [False, True])
def test_a_recogniser_that_gathers_is_fed_in_large_pieces(number: int, gathers: bool) -> None:
    async def conversation() -> None:
        recogniser = Gathering(gathers=gathers)
        bench = Bench(recogniser)
        packets = [index.to_bytes(2, "little") * 320 for index in range(number)]
        await bench.feed(TurnStarted(1))
        await asyncio.sleep(0.02)
        for packet in packets:
            await bench.feed(AudioIn(packet, now()))
            await asyncio.sleep(0.02)
        await bench.feed(TurnEnded(1, "silence"))
        await bench.finished()
        assert isinstance(bench.made[-1], Transcript)
        assert b"".join(recogniser.pieces) == b"".join(packets)
        assert bench.context.counters.get("asr.audio_dropped") == 0
        fed = -(-number // GATHERED_CHUNKS) if gathers else number
        assert len(recogniser.pieces) == fed

    run_virtual(conversation())


class Hinted(Late):
    """Notes the hints that it is given, in their order."""

    def __init__(self, *, closed_vocabulary: bool) -> None:
        super().__init__()
        self._closed_vocabulary = closed_vocabulary
        self.log: list[str] = []

    @property
    def closed_vocabulary(self) -> bool:
        return self._closed_vocabulary

    def open(self, hints: SpeechHints) -> ASRStream:
        self.log.append(f"open {len(hints.tools)}")
        return HintedStream(self.log)


class HintedStream(ASRStream):
    def __init__(self, log: list[str]) -> None:
        self._log = log

    async def feed(self, pcm: bytes) -> None: ...

    def update_hints(self, hints: SpeechHints) -> None:
        self._log.append(f"update {len(hints.tools)}")

    async def finish(self) -> Recognition:
        self._log.append(f"finish {now():.1f}")
        await asyncio.sleep(1)
        return Recognition("the words")

    async def close(self) -> None: ...


def after(seconds: float, bench: Bench, tools: int) -> None:
    """Let the device's list arrive."""
    arrived = [ToolDefinition(f"tool {number}", "") for number in range(tools)]
    loop = asyncio.get_running_loop()
    loop.call_later(seconds, bench.context.tools.replace, DEVICE_SOURCE, arrived)


async def utterance(bench: Bench, seconds: float = 1.2) -> None:
    """Say something, and wait for its transcript."""
    bench.context.timeline(1)
    await bench.feed(TurnStarted(1))
    await bench.speak(seconds)
    bench.context.timeline(1).mark("turn_end", now())
    await bench.feed(TurnEnded(1, "silence"))
    await bench.finished()
    assert isinstance(bench.made[-1], Transcript)


@pytest.mark.parametrize(
    ("arrives", "closed_vocabulary", "log"),
    [
        (0.0, True, ["open 2", "finish 1.2"]),
        (0.5, True, ["open 0", "update 2", "finish 1.2"]),
        (2.0, True, ["open 0", "update 2", "finish 2.0"]),
        (9.0, True, ["open 0", "finish 3.2"]),
        (2.0, False, ["open 0", "finish 1.2"]),
    ],
)
def test_an_utterance_follows_the_list_of_tools(
    arrives: float, closed_vocabulary: bool, log: list[str]
) -> None:
    async def conversation() -> None:
        asr = Hinted(closed_vocabulary=closed_vocabulary)
        bench = Bench(asr)
        bench.context.tools.device.expect(2.0)
        if arrives:
            after(arrives, bench, 2)
        else:
            bench.context.tools.replace(DEVICE_SOURCE, [LAMP, replace(LAMP, name="fan")])
        await utterance(bench)
        assert asr.log == log

    run_virtual(conversation())


def test_it_follows_only_so_many_changes() -> None:
    async def conversation() -> None:
        asr = Hinted(closed_vocabulary=True)
        bench = Bench(asr)
        for number in range(1, 11):
            after(number / 10, bench, number)
        await utterance(bench)
        assert asr.log == ["open 0", "update 1", "update 2", "update 3", "finish 1.2"]

    run_virtual(conversation())


def test_a_recogniser_that_fails_to_follow_goes_on() -> None:
    class Broken(HintedStream):
        def update_hints(self, hints: SpeechHints) -> None:
            raise RuntimeError("a defect")

    class BrokenASR(Hinted):
        def open(self, hints: SpeechHints) -> ASRStream:
            return Broken(self.log)

    async def conversation() -> None:
        bench = Bench(BrokenASR(closed_vocabulary=True))
        after(0.5, bench, 1)
        await utterance(bench)
        assert bench.context.counters.get("asr.update_hints_failed") == 1

    run_virtual(conversation())


def test_a_closed_station_no_longer_follows_the_tools() -> None:
    class Preparing(Hinted):
        def prepare(self, hints: SpeechHints) -> None:
            self.log.append(f"prepare {len(hints.tools)}")

    async def conversation() -> None:
        asr = Preparing(closed_vocabulary=True)
        bench = Bench(asr)
        bench.context.tools.replace(DEVICE_SOURCE, [LAMP])
        await bench.station.close()
        bench.context.tools.replace(DEVICE_SOURCE, [])
        assert asr.log == ["prepare 0", "prepare 1"]

    run_virtual(conversation())


@pytest.mark.parametrize("seconds", [1.2, 18.0])
def test_the_beginning_of_an_utterance_is_kept_as_sound(seconds: float) -> None:
    async def conversation() -> None:
        kept: list[tuple[str, str, int, bytes]] = []
        script: list[str | Recognition | Exception] = ["hello", "", ValueError("defect")]
        bench = Bench(ScriptedASR(script), keep=lambda *given: kept.append(given))
        await bench.feed(TurnStarted(7))
        await bench.speak(seconds)
        await bench.feed(TurnEnded(7, "silence"))
        await bench.finished()
        await bench.feed(TurnStarted(8))
        await bench.speak(0.6)
        await bench.feed(TurnDropped(8))
        await bench.feed(TurnStarted(9))
        await bench.speak(0.6)
        await bench.feed(TurnEnded(9, "silence"))
        await bench.finished()
        assert isinstance(bench.made[-1], TurnFailed)
        ((device, session, turn, pcm),) = kept
        assert (device, session, turn) == ("d", "s", 7)
        assert len(pcm) == min(pcm_bytes(seconds, LISTEN_RATE), MAX_SOUND_BYTES)
        assert bench.context.timeline(7).sound_ms == min(seconds, 15.0) * 1000

    run_virtual(conversation())


def test_otherwise_nothing_is_held_of_it() -> None:
    async def conversation() -> None:
        bench = Bench(ScriptedASR(["hello"]))
        await bench.feed(TurnStarted(7))
        await bench.speak(1.2)
        (utterance,) = bench.station._running.values()
        assert not utterance.sound
        await bench.feed(TurnEnded(7, "silence"))
        await bench.finished()
        assert bench.context.timeline(7).sound_ms == 0

    run_virtual(conversation())
