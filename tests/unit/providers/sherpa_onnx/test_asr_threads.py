"""The decoding threads, over a small library with the interface of the real one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.waiting import until
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.providers.sherpa_onnx.asr import SherpaASRProvider
from vixio.providers.sherpa_onnx.asr_kinds import KINDS
from vixio.providers.sherpa_onnx.asr_model import SherpaOfflineModel, SherpaOnlineModel
from vixio.providers.sherpa_onnx.asr_settings import SherpaASRSettings
from vixio.testing.contract import ASRContract
from vixio.testing.contract.asr import OFF, ON, Mishap, hear, utterances
from vixio.testing.contract.base import LIMIT, Creator

STEP = 3_200
"""Samples of one step of the streaming model."""


@dataclass
class Result:
    text: str = ""
    lang: str = ""
    emotion: str = ""
    event: str = ""


@dataclass
class Stream:
    heard: list[float] = field(default_factory=list)
    done: int = 0
    finished: bool = False
    result: Result = field(default_factory=Result)

    def accept_waveform(self, rate: int, samples: list[float]) -> None:
        assert rate == 16_000
        assert isinstance(samples, list)
        self.heard += samples

    def input_finished(self) -> None:
        self.finished = True


@dataclass
class Library:
    """Returns the amount of sound as its text; fails on request."""

    calls: list[int] = field(default_factory=list)
    fail_at: int = -1
    gate: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def create_stream(self, *hotwords: str) -> Stream:
        return Stream()

    def decode_streams(self, streams: Sequence[Stream]) -> None:
        self.calls.append(len(streams))
        assert self.gate.wait(LIMIT)
        if len(self.calls) - 1 == self.fail_at:
            raise RuntimeError("a shape does not fit")
        for stream in streams:
            stream.done = min(len(stream.heard), stream.done + STEP)
            loud = sum(abs(each) > 0.02 for each in stream.heard)
            stream.result = Result(f" LOUD {loud}" if loud else "", "<|en|>", "<|SAD|>")

    def is_ready(self, stream: Stream) -> bool:
        return len(stream.heard) - stream.done >= (1 if stream.finished else STEP)

    def get_result(self, stream: Stream) -> str:
        loud = sum(abs(each) > 0.02 for each in stream.heard[: stream.done])
        return f" LOUD {loud}" if loud else ""


class Provider(SherpaASRProvider):
    def __init__(self, kind: str, library: Library, **options: int) -> None:
        super().__init__(SherpaASRSettings(folder=Path("unused"), try_first=False, **options))  # type: ignore[arg-type]  # numbers alone
        wrapper = SherpaOnlineModel if KINDS[kind].streaming else SherpaOfflineModel
        self.model = wrapper(library, KINDS[kind], None)

    def load(self) -> SherpaOfflineModel | SherpaOnlineModel:
        return self.model


@pytest.fixture(params=["sense-voice", "wenet-ctc", "streaming-transducer"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
async def asr(kind: str, library: Library) -> AsyncIterator[SherpaASRProvider]:
    provider = Provider(kind, library)
    await provider.start()
    yield provider
    library.gate.set()
    await provider.close()


class TestThreads(ASRContract):
    finds_words = False

    @pytest.fixture
    def creator(self, kind: str) -> Creator[ASRProvider]:
        @asynccontextmanager
        async def create(mishap: Mishap | None = None) -> AsyncIterator[ASRProvider]:
            yield Provider(kind, Library())

        return create


async def test_words_are_made_readable(asr: SherpaASRProvider) -> None:
    heard = await hear(asr, utterances()[ON])
    assert heard.text.startswith("loud ")
    if not asr.streaming:
        assert (heard.language, heard.emotion) == ("en", "sad")


async def test_a_fault_costs_those_that_were_in_the_call(
    asr: SherpaASRProvider, library: Library
) -> None:
    library.fail_at = len(library.calls)
    with pytest.raises(ProviderError, match="decoding failed"):
        await hear(asr, utterances()[ON])
    assert (await hear(asr, utterances()[ON])).text


async def test_a_fault_of_a_streaming_model_wakes_waiting_calls(library: Library) -> None:
    asr = Provider("streaming-transducer", library)
    await asr.start()
    try:
        library.fail_at = len(library.calls)
        stream = asr.open(SpeechHints())

        async def speak() -> None:
            while True:
                await stream.feed(utterances()[ON])
                await asyncio.sleep(0)

        with pytest.raises(ProviderError):
            await asyncio.wait_for(speak(), LIMIT)
        await stream.close()
    finally:
        await asr.close()


async def test_utterances_of_like_length_are_one_call(library: Library) -> None:
    asr = Provider("sense-voice", library, max_batch=8)
    await asr.start()
    try:
        library.gate.clear()
        library.calls.clear()
        first = asyncio.create_task(hear(asr, utterances()[ON]))
        await until(lambda: library.calls)
        short = [asyncio.create_task(hear(asr, utterances()[OFF])) for _ in range(4)]
        long = [asyncio.create_task(hear(asr, utterances()[ON] * 8)) for _ in range(2)]
        for _ in range(300):
            await asyncio.sleep(0)
        library.gate.set()
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(first, *short, *long)
        assert library.calls == [1, 4, 2]
    finally:
        library.gate.set()
        await asr.close()


async def test_an_abandoned_utterance_is_not_decoded(library: Library) -> None:
    asr = Provider("sense-voice", library, max_batch=1)
    await asr.start()
    try:
        library.gate.clear()
        library.calls.clear()
        tasks = [asyncio.create_task(hear(asr, utterances()[ON])) for _ in range(5)]
        await until(lambda: library.calls)
        for task in tasks[1:4]:
            task.cancel()
        await asyncio.gather(*tasks[1:4], return_exceptions=True)
        library.gate.set()
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(tasks[0], tasks[4])
        assert library.calls == [1, 1]
    finally:
        library.gate.set()
        await asr.close()


async def test_streaming_utterances_share_their_steps(library: Library) -> None:
    asr = Provider("streaming-transducer", library, max_batch=8)
    await asr.start()
    try:
        library.gate.clear()
        library.calls.clear()
        tasks = [asyncio.create_task(hear(asr, utterances()[ON])) for _ in range(6)]
        for _ in range(300):
            await asyncio.sleep(0)
        library.gate.set()
        async with asyncio.timeout(LIMIT):
            texts = [each.text for each in await asyncio.gather(*tasks)]
        assert len(set(texts)) == 1
        assert max(library.calls) > 3
    finally:
        library.gate.set()
        await asr.close()


@pytest.mark.slow
async def test_feeding_faster_than_decoding_waits(library: Library) -> None:
    asr = Provider("streaming-transducer", library)
    await asr.start()
    try:
        library.gate.clear()
        stream = asr.open(SpeechHints())
        second = bytes(32_000)
        await stream.feed(second)
        await until(lambda: library.calls)
        for _ in range(5):
            await stream.feed(second)
        waiting = asyncio.create_task(stream.feed(second * 3))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done()
        library.gate.set()
        async with asyncio.timeout(LIMIT):
            await waiting
            await stream.finish()
        await stream.close()
    finally:
        library.gate.set()
        await asr.close()
