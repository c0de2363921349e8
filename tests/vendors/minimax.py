"""The voice of MiniMax on its stand-in, for the contract suite and tests of faults."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from vixio.providers.minimax.tts import MiniMaxTTSProvider, MiniMaxTTSSettings
from vixio.providers.tts import TTSProvider
from vixio_bench.vendors.minimax.service import GROUP, KEY, MiniMaxService


def voice(service: MiniMaxService, **options: object) -> MiniMaxTTSProvider:
    given = {"base_url": service.base_url, "api_key": KEY, "group_id": GROUP, **options}
    return MiniMaxTTSProvider(MiniMaxTTSSettings.model_validate(given))


@asynccontextmanager
async def tts() -> AsyncIterator[TTSProvider]:
    async with MiniMaxService() as service:
        yield voice(service)
        assert not service.account.violations
