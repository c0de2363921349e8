"""A local server in place of OpenAI's, and providers that use it."""

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
def make_tts(server: SpeechServer, stack: AsyncExitStack) -> Callable[..., Any]:
    """Return a function that creates and starts a TTS provider."""

    async def make(**settings: Any) -> OpenAITTSProvider:  # noqa: ANN401 - settings of any kind
        wanted = {"base_url": server.base_url, "retries": 0, **settings}
        made = OpenAITTSProvider(OpenAITTSSettings.model_validate(wanted))
        stack.push_async_callback(made.close)
        await made.start()
        return made

    return make


@pytest.fixture
def make_asr(server: SpeechServer, stack: AsyncExitStack) -> Callable[..., Any]:
    """Return a function that creates and starts an ASR provider."""

    async def make(**settings: Any) -> OpenAIASRProvider:  # noqa: ANN401 - settings of any kind
        wanted = {"base_url": server.base_url, "retries": 0, **settings}
        made = OpenAIASRProvider(OpenAIASRSettings.model_validate(wanted))
        stack.push_async_callback(made.close)
        await made.start()
        return made

    return make
