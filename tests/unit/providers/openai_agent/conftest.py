"""A model's server and an agent that talks to it."""

from collections.abc import AsyncIterator

import pytest

from tests.support.llm_server import LLMServer
from vixio.providers.openai_agent.provider import OpenAIAgentProvider


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
