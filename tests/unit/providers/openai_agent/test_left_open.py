"""An answer that ends early leaves no generator of the HTTP library open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal, cast

import pytest

from tests.support import llm_server, responses_api
from tests.support.generators import left_open
from tests.support.llm_server import Answer, Cut, LLMServer, Stall
from vixio.core.chunk import TextDelta
from vixio.core.errors import ProviderError
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.providers.openai_agent.provider import OpenAIAgentProvider

Api = Literal["chat_completions", "responses"]

APIS: tuple[Api, ...] = ("chat_completions", "responses")
LIMIT = 90.0


def agent_of(server: LLMServer, api: Api, stall_timeout: float = LIMIT) -> OpenAIAgentProvider:
    return OpenAIAgentProvider(
        "sk-x", "stand-in", server.base_url, api=api, retries=0, stall_timeout=stall_timeout
    )


def answer(api: Api, *parts: str | Cut | Stall) -> Answer:
    return llm_server.text(*parts) if api == "chat_completions" else responses_api.text(*parts)


def reply(agent: OpenAIAgentProvider) -> AsyncGenerator[AgentEvent, None]:
    return cast("AsyncGenerator[AgentEvent, None]", agent.reply(AgentRequest(1, "?")))


async def first_word(events: AsyncGenerator[AgentEvent, None]) -> str:
    async with asyncio.timeout(LIMIT):
        async for event in events:
            if isinstance(event, TextDelta):
                return event.text
    return ""


@pytest.mark.parametrize("api", APIS)
async def test_a_whole_answer(server: LLMServer, api: Api) -> None:
    agent = agent_of(server, api)
    server.script(answer(api, "One ", "two ", "three."))
    with left_open() as names:
        async with aclosing(reply(agent)) as events:
            assert [event async for event in events]
        await agent.close()
    assert names == []


@pytest.mark.parametrize("api", APIS)
async def test_an_answer_whose_reader_stops(server: LLMServer, api: Api) -> None:
    agent = agent_of(server, api)
    server.script(answer(api, "One ", "two ", "three ", Stall()))
    with left_open() as names:
        async with aclosing(reply(agent)) as events:
            assert await first_word(events) == "One "
        await agent.close()
    assert names == []


@pytest.mark.parametrize("api", APIS)
async def test_an_answer_that_is_cancelled(server: LLMServer, api: Api) -> None:
    agent = agent_of(server, api)
    server.script(answer(api, "One ", Stall()))
    heard = asyncio.Event()

    async def listen() -> None:
        async with aclosing(reply(agent)) as events:
            await first_word(events)
            heard.set()
            await anext(events)

    with left_open() as names:
        listening = asyncio.create_task(listen())
        await asyncio.wait_for(heard.wait(), LIMIT)
        listening.cancel()
        await asyncio.wait([listening])
        await agent.close()
        del listening
    assert names == []


@pytest.mark.parametrize("ending", [Cut, Stall])
@pytest.mark.parametrize("api", APIS)
async def test_an_answer_that_breaks_off(
    server: LLMServer, api: Api, ending: type[Cut] | type[Stall]
) -> None:
    agent = agent_of(server, api, stall_timeout=0.2)
    server.script(answer(api, "One ", ending()))
    with left_open() as names:
        async with aclosing(reply(agent)) as events:
            assert await first_word(events) == "One "
            with pytest.raises(ProviderError):
                async with asyncio.timeout(LIMIT):
                    await anext(events)
        await agent.close()
    assert names == []
