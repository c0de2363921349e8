"""Voices of one's own on their stand-in, for the contract suite and tests of faults."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from vixio.providers.http_tts.provider import HttpTTSProvider, HttpTTSSettings
from vixio.providers.tts import TTSProvider
from vixio.testing.contract.base import Creator
from vixio_bench.vendors.own_voices.service import KEY, RECORDING, OwnVoices

PRESETS: Final[dict[str, dict[str, Any]]] = {
    "gpt-sovits": {"body": {"ref_audio_path": RECORDING, "prompt_text": "你好"}},
    "index-tts": {"voice": "xiaoxiao"},
    "cosyvoice": {"voice": "中文女"},
    "fish-speech": {"api_key": KEY},
}


def voice(service: OwnVoices, preset: str, **options: object) -> HttpTTSProvider:
    given = {"preset": preset, "url": service.url(preset), **PRESETS[preset], **options}
    return HttpTTSProvider(HttpTTSSettings.model_validate(given))


def tts(preset: str) -> Creator[TTSProvider]:
    @asynccontextmanager
    async def made() -> AsyncIterator[TTSProvider]:
        async with OwnVoices() as service:
            yield voice(service, preset)
            assert not service.account.violations

    return made
