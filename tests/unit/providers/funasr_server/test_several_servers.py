"""Several FunASR servers for one recogniser: utterances are shared, and go over where one fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.funasr_faults import at, cut, stall
from tests.support.funasr_server import FunASRServer
from tests.unit.providers.funasr_server.support import BOUND, noise, provider
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, Recognition, SpeechHints
from vixio.settings.provider import ASRSection


@asynccontextmanager
async def _several(*servers: FunASRServer, **options: object) -> AsyncIterator[ASRProvider]:
    urls = [each.url for each in servers]
    asr = ASRSection.model_validate({"name": "funasr-server", "url": urls, **options}).create()
    await asr.start()
    try:
        yield asr
    finally:
        await asr.close()


async def _hear(asr: ASRProvider, pcm: bytes) -> Recognition:
    stream = asr.open(SpeechHints())
    try:
        async with asyncio.timeout(BOUND):
            for start in range(0, len(pcm), 1920):
                await stream.feed(pcm[start : start + 1920])
            return await stream.finish()
    finally:
        await stream.close()


async def test_utterances_at_the_same_time_are_shared() -> None:
    async with FunASRServer() as one, FunASRServer() as two, _several(one, two) as asr:
        heard = await asyncio.gather(*(_hear(asr, noise(0.5)) for _ in range(6)))
        assert [each.text for each in heard] == ["loud 5"] * 6
        assert [len(each.utterances) for each in (one, two)] == [3, 3]


@pytest.mark.parametrize("stage", ["start", "audio", "end"])
async def test_an_utterance_goes_over_to_the_other(stage: str) -> None:
    async with (
        FunASRServer(fault=at(stage, cut, 2)) as one,
        FunASRServer() as two,
        _several(one, two) as asr,
    ):
        assert (await _hear(asr, noise(1))).text == "loud 10"
        assert bytes(two.utterances[-1].pcm) == noise(1)


@pytest.mark.slow
async def test_one_that_says_nothing_more_costs_half_of_the_time() -> None:
    stuck = FunASRServer(fault=at("end", stall))
    async with stuck as one, FunASRServer() as two, _several(one, two, timeout=2.0) as asr:
        began = asyncio.get_running_loop().time()
        assert (await _hear(asr, noise(0.5))).text == "loud 5"
        assert asyncio.get_running_loop().time() - began > 0.95
        assert len(two.utterances) == 1


async def test_the_trial_connects_and_leaves_nothing() -> None:
    async with FunASRServer() as server, provider(server) as asr:
        assert not await asr.verify()  # the protocol has no question that would show more
        assert server.connections == 1
        url = server.url
        await server.stop()
        with pytest.raises(ProviderError, match="cannot be reached") as caught:
            await asr.verify()
        assert caught.value.reason == "unreachable"
        assert url.rpartition("/")[2] in str(caught.value)
