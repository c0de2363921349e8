"""The providers of Volcengine on their stand-in, for the contract suites and tests of faults."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from vixio.providers.asr import ASRProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.volcengine.asr import VolcengineASRProvider
from vixio.providers.volcengine.settings import VolcengineASRSettings, VolcengineTTSSettings
from vixio.providers.volcengine.tts import FACTORY as VOICE
from vixio.testing.contract.asr import ASRCreator, Mishap, utterances
from vixio.testing.contract.base import Creator
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.volcengine.service import KEY, VolcengineService

# A lost connection is replaced once, so it takes two to lose an utterance.
_MISHAPS: Final = {
    Mishap.ERROR: [Trouble.ERROR] * 2,
    Mishap.STALL: [Trouble.STALL],
    Mishap.CUT: [Trouble.CUT] * 2,
    Mishap.GARBAGE: [Trouble.GARBAGE] * 2,
}


def ears(service: VolcengineService, **options: object) -> VolcengineASRProvider:
    given = {"url": service.asr_url, "api_key": KEY, **options}
    return VolcengineASRProvider(VolcengineASRSettings.model_validate(given))


def voice(service: VolcengineService, **options: object) -> TTSProvider:
    given = {"url": service.tts_url, "http_url": service.http_url, "api_key": KEY, **options}
    made: TTSProvider = VOICE.create(VolcengineTTSSettings.model_validate(given))
    return made


def asr(endpoint: str) -> ASRCreator:
    @asynccontextmanager
    async def made(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
        async with VolcengineService() as service:
            service.known.update((pcm, words) for words, pcm in utterances().items())
            if mishap is not None:
                service.fail(*_MISHAPS[mishap])
            timeout = 2.0 if mishap is Mishap.STALL else 10.0
            yield ears(service, endpoint=endpoint, timeout=timeout)
            assert not service.account.violations

    return made


def tts(way: str) -> Creator[TTSProvider]:
    @asynccontextmanager
    async def made() -> AsyncIterator[TTSProvider]:
        async with VolcengineService() as service:
            service.most = 16
            yield voice(service, way=way, concurrency=16)
            assert not service.account.violations

    return made
