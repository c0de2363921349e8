"""The stand-in server, and the providers that are told its address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.support.speech_server import SpeechServer
from vixio.providers.openai_speech.asr import OpenAIASRProvider, OpenAIASRSettings
from vixio.providers.openai_speech.tts import OpenAITTSProvider, OpenAITTSSettings


@pytest.fixture
async def server() -> AsyncIterator[SpeechServer]:
    async with SpeechServer() as made:
        yield made
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.fixture
async def stack(server: SpeechServer) -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as made:
        yield made


@pytest.fixture
def voice(server: SpeechServer, stack: AsyncExitStack) -> Callable[..., Any]:
    """Make a started TTS of these settings."""

    async def make(**settings: Any) -> OpenAITTSProvider:  # noqa: ANN401 - settings of any kind
        wanted = {"base_url": server.base_url, "retries": 0, **settings}
        made = OpenAITTSProvider(OpenAITTSSettings.model_validate(wanted))
        stack.push_async_callback(made.close)
        await made.start()
        return made

    return make


@pytest.fixture
def ears(server: SpeechServer, stack: AsyncExitStack) -> Callable[..., Any]:
    """Make a started ASR of these settings."""

    async def make(**settings: Any) -> OpenAIASRProvider:  # noqa: ANN401 - settings of any kind
        wanted = {"base_url": server.base_url, "retries": 0, **settings}
        made = OpenAIASRProvider(OpenAIASRSettings.model_validate(wanted))
        stack.push_async_callback(made.close)
        await made.start()
        return made

    return make
