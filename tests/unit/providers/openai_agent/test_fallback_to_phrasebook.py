"""A model that is out with the phrase book behind it: commands work, and for anything else the user
learns why, instead of "I did not understand"."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.llm_server import LLMServer, failure, text
from vixio.core.chunk import TextDelta
from vixio.core.errors import ProviderError
from vixio.core.messages import message
from vixio.core.messages.fault import Fault
from vixio.core.tools.local import BUILTIN_LOCAL_TOOLS
from vixio.providers.agent import AgentProvider, AgentRequest
from vixio.providers.openai_agent.fallback_backend import (
    FallbackAgentBackend,
    FallbackAgentSettings,
)
from vixio.providers.openai_agent.fallback_model import FallbackModel
from vixio.providers.openai_agent.model import ModelCall, Words


@pytest.fixture
async def backend(server: LLMServer) -> AsyncIterator[FallbackAgentBackend]:
    model = {"name": "openai", "model": "m", "base_url": server.base_url, "retries": 0}
    settings = {"models": [model, {"name": "phrasebook", "retries": 3}], "pause": 300.0}
    backend = FallbackAgentBackend(FallbackAgentSettings.model_validate(settings))
    await backend.start()
    yield backend
    await backend.close()


async def say(agent: AgentProvider, said: str) -> str:
    async with asyncio.timeout(60):
        events = [event async for event in agent.reply(AgentRequest(1, said, language="en"))]
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_the_reason_of_the_model_is_raised(
    server: LLMServer, backend: FallbackAgentBackend
) -> None:
    agent = backend.create()
    await agent.initialize(BUILTIN_LOCAL_TOOLS)
    server.script(failure(401, "no"))
    with pytest.raises(ProviderError) as caught:
        await say(agent, "tell me a story")
    assert caught.value.reason == "no_key"
    assert not caught.value.retryable
    assert (await say(agent, "what time is it")).startswith("It is ")
    # The model is not asked for a while; why it does not answer is still known.
    with pytest.raises(ProviderError) as again:
        await say(agent, "tell me a story")
    assert Fault.of(again.value).words("zh-CN") == "抱歉，我需要的服务的密钥无效。"
    assert len(server.requests) == 1
    book = backend.stats()[1]
    assert book["state"] == "ready"
    await agent.close()


async def test_without_a_failure_the_book_says_that_it_did_not_understand(
    server: LLMServer, backend: FallbackAgentBackend
) -> None:
    model = backend.loaded.model if backend.loaded is not None else None
    assert isinstance(model, FallbackModel)
    first, book = model.candidates
    server.script(text("Once upon a time."))
    first.failure = ProviderError("openai", "an hour ago", reason="service")
    agent = backend.create()
    assert await say(agent, "tell me a story") == "Once upon a time."
    assert [each.failure for each in model.candidates] == [None, None]
    call = ModelCall("", [{"role": "user", "content": "tell me a story"}], language="fr-CA")
    words = [part.text async for part in book.model.stream(call) if isinstance(part, Words)]
    assert words == [message("not_understood_first", "fr")]
    await agent.close()
