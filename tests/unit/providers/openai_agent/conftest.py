"""A stand-in for a model's server, and an agent that uses it."""

from collections.abc import AsyncIterator

import pytest

from tests.support.llm_server import LLMServer
from vixio.providers.openai_agent.backend import OpenAIAgentBackend
from vixio.providers.openai_agent.provider import OpenAIAgentProvider
from vixio.providers.openai_agent.settings import OpenAIAgentSettings


@pytest.fixture
async def server() -> AsyncIterator[LLMServer]:
    async with LLMServer() as running:
        yield running


@pytest.fixture
async def agent(server: LLMServer) -> AsyncIterator[OpenAIAgentProvider]:
    provider = OpenAIAgentProvider("sk-very-secret", "stand-in", server.base_url)
    await provider.initialize(system_prompt="Be brief.")
    yield provider
    await provider.close()


@pytest.fixture
async def backend(server: LLMServer) -> AsyncIterator[OpenAIAgentBackend]:
    made = OpenAIAgentBackend(
        OpenAIAgentSettings(model="stand-in", base_url=server.base_url, retries=0)
    )
    await made.start()
    yield made
    await made.close()
