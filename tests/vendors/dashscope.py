"""The providers of DashScope on their stand-in, for the contract suites and tests of faults."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from vixio.providers.asr import ASRProvider
from vixio.providers.dashscope.asr import DashScopeASRProvider
from vixio.providers.dashscope.settings import DashScopeASRSettings, DashScopeTTSSettings
from vixio.providers.dashscope.tts import DashScopeTTSProvider
from vixio.providers.tts import TTSProvider
from vixio.testing.contract.asr import ASRCreator, Mishap, utterances
from vixio.testing.contract.base import Creator
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.dashscope.service import KEY, DashScopeService

QWEN_ASR, QWEN_TTS = "qwen3-asr-flash-realtime", "qwen3-tts-flash-realtime"

# A lost connection is replaced once, so it takes two to lose an utterance.
_MISHAPS: Final = {
    Mishap.ERROR: [Trouble.ERROR] * 2,
    Mishap.STALL: [Trouble.STALL],
    Mishap.CUT: [Trouble.CUT] * 2,
    Mishap.GARBAGE: [Trouble.GARBAGE] * 2,
}


def _where(service: DashScopeService, options: dict[str, object]) -> dict[str, object]:
    qwen = str(options.get("model", "")).startswith("qwen")
    url = service.sessions_url if qwen else service.tasks_url
    return {"url": url, "api_key": KEY, **options}


def ears(service: DashScopeService, **options: object) -> DashScopeASRProvider:
    return DashScopeASRProvider(DashScopeASRSettings.model_validate(_where(service, options)))


def voice(service: DashScopeService, **options: object) -> DashScopeTTSProvider:
    return DashScopeTTSProvider(DashScopeTTSSettings.model_validate(_where(service, options)))


def asr(model: str) -> ASRCreator:
    @asynccontextmanager
    async def made(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
        async with DashScopeService() as service:
            service.known.update((pcm, words) for words, pcm in utterances().items())
            if mishap is not None:
                service.fail(*_MISHAPS[mishap])
            timeout = 2.0 if mishap is Mishap.STALL else 10.0
            yield ears(service, model=model, timeout=timeout)
            assert not service.account.violations

    return made


def tts(model: str) -> Creator[TTSProvider]:
    @asynccontextmanager
    async def made() -> AsyncIterator[TTSProvider]:
        async with DashScopeService() as service:
            yield voice(service, model=model)
            assert not service.account.violations

    return made
