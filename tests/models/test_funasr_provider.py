"""The provider over real models: batching, partial transcripts, cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tests.models.funasr_support import feed, finish, funasr, say
from tests.models.needs import needs
from tests.support.waiting import until
from vixio.core.errors import ProviderError
from vixio.providers.asr import SpeechHints
from vixio.providers.funasr.provider import FunASRProvider

# A process takes seconds to start: the tests share two, and therefore a loop.
pytestmark = [
    *needs("funasr", "funasr", "torch", "kaldi_native_fbank"),
    pytest.mark.asyncio(loop_scope="module"),
]

MAX_SECONDS = 8


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def providers(
    paraformer: Path, streaming: Path
) -> AsyncIterator[tuple[FunASRProvider, FunASRProvider]]:
    """An offline and a streaming provider, loaded at the same time."""
    options = {"gather_ms": 200, "max_waiting": 2, "max_seconds": MAX_SECONDS}
    async with AsyncExitStack() as stack:
        tasks = [
            asyncio.create_task(stack.enter_async_context(funasr(folder, **options)))
            for folder in (paraformer, streaming)
        ]
        offline, online = await asyncio.gather(*tasks)
        yield offline, online


@pytest.fixture
def offline(providers: tuple[FunASRProvider, FunASRProvider]) -> FunASRProvider:
    return providers[0]


@pytest.fixture
def online(providers: tuple[FunASRProvider, FunASRProvider]) -> FunASRProvider:
    return providers[1]


async def test_two_at_once_share_one_call_and_get_their_own_words(
    offline: FunASRProvider, speech: bytes
) -> None:
    other = speech[len(speech) // 4 : len(speech) // 4 * 3]
    alone = [(await say(offline, pcm)).text for pcm in (speech, other)]
    assert all(alone)
    assert alone[0] != alone[1]
    streams = [offline.open(SpeechHints()) for _ in range(2)]
    for stream, pcm in zip(streams, (speech, other), strict=True):
        await feed(stream, pcm)
    together = await asyncio.gather(*map(finish, streams))
    assert [stream.batch for stream in streams] == [2, 2]
    # Padding affects only the last word of the shorter utterance.
    for one, both in zip(alone, together, strict=True):
        assert both.text[: len(one) - 2] == one[: len(one) - 2]
    for stream in streams:
        await stream.close()


async def test_a_single_utterance_does_not_wait_for_others(
    offline: FunASRProvider, speech: bytes
) -> None:
    stream = offline.open(SpeechHints())
    await feed(stream, speech)
    assert (await finish(stream)).text
    assert stream.batch == 1
    await stream.close()


async def test_partial_transcripts_come_before_the_end(
    online: FunASRProvider, speech: bytes
) -> None:
    stream = online.open(SpeechHints())
    await feed(stream, speech)
    await until(lambda: bool(stream.partial))
    early = stream.partial
    heard = await finish(stream)
    assert heard.text.startswith(early)
    assert len(heard.text) > len(early)
    await stream.close()


async def test_streaming_utterances_do_not_mix(online: FunASRProvider, speech: bytes) -> None:
    other = speech[len(speech) // 4 :][: len(speech) // 2]
    alone = [(await say(online, pcm)).text for pcm in (speech, other)]
    assert alone[0] != alone[1]
    together = await asyncio.gather(say(online, speech), say(online, other))
    assert [heard.text for heard in together] == alone


async def test_ten_minutes_are_bounded(
    providers: tuple[FunASRProvider, FunASRProvider], speech: bytes
) -> None:
    minute = (speech * 40)[: 32_000 * 60]
    for provider in providers:
        heard = await say(provider, minute * 10)
        begun = await say(provider, minute[: 32_000 * MAX_SECONDS])
        assert heard.text == begun.text != ""


async def test_what_is_given_up_costs_nothing(
    providers: tuple[FunASRProvider, FunASRProvider], speech: bytes
) -> None:
    for provider in providers:
        alone = (await say(provider, speech)).text
        given_up = provider.open(SpeechHints())
        await feed(given_up, speech)
        finishing = asyncio.create_task(finish(given_up))
        await asyncio.sleep(0)
        assert provider.waiting == 1
        finishing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await finishing
        await given_up.close()
        assert provider.waiting == 0
        with pytest.raises(ProviderError):
            await given_up.feed(speech)
        assert (await say(provider, speech)).text == alone


async def test_one_more_than_may_wait_fails_at_once(offline: FunASRProvider, speech: bytes) -> None:
    streams = [offline.open(SpeechHints()) for _ in range(3)]
    for stream in streams:
        await feed(stream, speech)
    waiting = [asyncio.create_task(finish(stream)) for stream in streams[:2]]
    await asyncio.sleep(0)
    with pytest.raises(ProviderError) as caught:
        await finish(streams[2])
    assert caught.value.reason == "busy"
    assert all([(await task).text for task in waiting])
    for stream in streams:
        await stream.close()


async def test_a_model_without_hotwords_is_fed_none(online: FunASRProvider) -> None:
    assert online.worker is not None
    assert online.worker.process.about == {
        "model": "ParaformerStreaming",
        "streaming": True,
        "hotwords": False,
    }
