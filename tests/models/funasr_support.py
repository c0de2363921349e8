"""Helpers of the tests of the FunASR provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from vixio.providers.asr import Recognition, SpeechHints
from vixio.providers.funasr.provider import FunASRProvider
from vixio.providers.funasr.settings import FunASRSettings
from vixio.providers.funasr.stream import FunASRStream

BOUND = 60.0
"""Seconds. Loading a model takes five on two cores."""
PACKET = 1920


def made(folder: Path, **options: object) -> FunASRProvider:
    """Return a provider of the model in ``folder``, unstarted."""
    settings = {"model": str(folder), "threads": 1, "timeout": 30, **options}
    return FunASRProvider(FunASRSettings.model_validate(settings))


@asynccontextmanager
async def funasr(folder: Path, **options: object) -> AsyncIterator[FunASRProvider]:
    """Yield a started provider."""
    provider = made(folder, **options)
    try:
        async with asyncio.timeout(BOUND):
            await provider.start()
        yield provider
    finally:
        await provider.close()


async def feed(stream: FunASRStream, pcm: bytes) -> None:
    for start in range(0, len(pcm), PACKET):
        await stream.feed(pcm[start : start + PACKET])


async def finish(stream: FunASRStream) -> Recognition:
    async with asyncio.timeout(BOUND):
        return await stream.finish()


async def say(
    provider: FunASRProvider, pcm: bytes, hints: SpeechHints | None = None
) -> Recognition:
    """Return the recognition of ``pcm``."""
    stream = provider.open(hints or SpeechHints())
    try:
        await feed(stream, pcm)
        return await finish(stream)
    finally:
        await stream.close()
