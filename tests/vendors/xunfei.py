"""The providers of Xunfei on their stand-ins, for the contract suites and tests of faults."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from vixio.providers.asr import ASRProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.xunfei.asr import XunfeiASRProvider
from vixio.providers.xunfei.settings import XunfeiASRSettings, XunfeiTTSSettings
from vixio.providers.xunfei.tts import XunfeiTTSProvider
from vixio.testing.contract.asr import ASRCreator, Mishap, utterances
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.xunfei.service import APP_ID, KEY, SECRET, XunfeiService

KEYS: Final = {"app_id": APP_ID, "api_key": KEY, "api_secret": SECRET}

# A lost connection is replaced once, so it takes two to lose an utterance.
_MISHAPS: Final = {
    Mishap.ERROR: [Trouble.ERROR] * 2,
    Mishap.STALL: [Trouble.STALL],
    Mishap.CUT: [Trouble.CUT] * 2,
    Mishap.GARBAGE: [Trouble.GARBAGE] * 2,
}


def ears(service: XunfeiService, **options: object) -> XunfeiASRProvider:
    old = options.get("product") == "iat"
    given = {"url": service.old_url if old else service.model_url, **KEYS, **options}
    return XunfeiASRProvider(XunfeiASRSettings.model_validate(given))


def voice(service: XunfeiService, **options: object) -> XunfeiTTSProvider:
    given = {"url": service.voice_url, **KEYS, **options}
    return XunfeiTTSProvider(XunfeiTTSSettings.model_validate(given))


def asr(product: str) -> ASRCreator:
    @asynccontextmanager
    async def made(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
        async with XunfeiService() as service:
            service.known.update((pcm, words) for words, pcm in utterances().items())
            if mishap is not None:
                service.fail(*_MISHAPS[mishap])
            timeout = 2.0 if mishap is Mishap.STALL else 10.0
            yield ears(service, product=product, timeout=timeout)
            assert not service.account.violations

    return made


@asynccontextmanager
async def tts() -> AsyncIterator[TTSProvider]:
    async with XunfeiService() as service:
        yield voice(service)
        assert not service.account.violations
