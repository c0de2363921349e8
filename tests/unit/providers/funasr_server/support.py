"""Utterances for the tests of the FunASR server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np

from tests.support.funasr_server import RATE, FunASRServer
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import Recognition, SpeechHints
from vixio.providers.funasr_server.provider import FunASRServerASRProvider
from vixio.providers.funasr_server.settings import FunASRServerSettings
from vixio.providers.funasr_server.transcript import Ending

BOUND = 20.0
"""Timeout in seconds of each wait."""


def noise(seconds: float) -> bytes:
    samples = np.random.default_rng(3).normal(0, 4000, round(seconds * RATE))
    return samples.astype("<i2").tobytes()


def silence(seconds: float) -> bytes:
    return bytes(2 * round(seconds * RATE))


@asynccontextmanager
async def provider(
    server: FunASRServer,
    learned: Ending = Ending.FINAL,
    **options: Any,  # noqa: ANN401 - settings of any type
) -> AsyncIterator[FunASRServerASRProvider]:
    """Run a provider that already knows the ending of the C++ 2pass server: saves 0.5 s a test."""
    settings = FunASRServerSettings.model_validate({"url": server.url, **options})
    made = FunASRServerASRProvider(settings)
    made.pool.habits.ending = learned
    await made.start()
    try:
        yield made
    finally:
        async with asyncio.timeout(BOUND):
            await made.close()


async def recognise(
    asr: FunASRServerASRProvider,
    pcm: bytes,
    *,
    tools: Iterable[ToolDefinition] = (),
    size: int = 1920,
) -> Recognition:
    """Send ``pcm`` in packets of ``size`` bytes."""
    stream = asr.open(SpeechHints(tuple(tools)))
    try:
        async with asyncio.timeout(BOUND):
            for at in range(0, len(pcm), size):
                await stream.feed(pcm[at : at + size])
            return await stream.finish()
    finally:
        await stream.close()
