"""The recognisers that need no download pass the contract."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.contract.recognisers import ASRS, RecogniserCase, openai, pocketsphinx
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider
from vixio.providers.combined.provider import CombinedASRProvider
from vixio.testing.contract import ASRContract
from vixio.testing.contract.asr import HINTS, ON, ASRCreator, Mishap, feed, hear, utterances
from vixio.testing.contract.base import Creator


class TestASR(ASRContract):
    @pytest.fixture(params=sorted(ASRS))
    def case(self, request: pytest.FixtureRequest) -> RecogniserCase:
        return ASRS[request.param]

    @pytest.fixture
    def creator(self, case: RecogniserCase) -> Creator[ASRProvider]:
        return lambda: case.create(None)

    @pytest.fixture
    def mishap_creator(self, case: RecogniserCase) -> ASRCreator:
        return case.create

    @pytest.fixture
    def words_expected(self, case: RecogniserCase) -> bool:
        return case.finds_words

    @pytest.fixture
    def possible_mishaps(self, case: RecogniserCase) -> Sequence[Mishap]:
        return case.mishaps


async def test_a_real_recogniser_of_commands_beside_a_service() -> None:
    """What a stand-in cannot show: a process is dropped, cancelled and closed within the two."""
    said = utterances()
    async with pocketsphinx(None) as commands, openai(stream=True)(None) as speech:
        asr = CombinedASRProvider(commands, speech, seconds=120)
        await asr.start()
        try:
            dropped, cancelled = asr.open(HINTS), asr.open(HINTS)
            for stream in (dropped, cancelled):
                await feed(stream, said[ON])
            finishing = asyncio.create_task(cancelled.finish())
            await asyncio.sleep(0)
            finishing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await finishing
            for stream in (dropped, cancelled):
                await stream.close()
            heard = await asyncio.gather(*(hear(asr, pcm) for pcm in said.values()))
            assert [each.text for each in heard] == list(said)
            last = asr.open(HINTS)
            await feed(last, said[ON])
        finally:
            await asr.close()
        with pytest.raises(ProviderError):
            await last.finish()
        await last.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
