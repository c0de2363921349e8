"""A warm-up turn: the SDK's late imports and caches would delay the first user by 60 ms.

Importing this imports the SDK. It uses no network: the phrase book is the model.
"""

from __future__ import annotations

import asyncio

from agents import Agent, Runner, function_tool

from vixio.providers.openai_agent.phrasebook import PhraseBookModel


@function_tool
async def get_time() -> str:
    """Tell the time."""
    return "12:00"


async def _turn() -> None:
    agent = Agent("warm-up", model=PhraseBookModel("en"), tools=[get_time])
    result = Runner.run_streamed(agent, "what time is it")
    async for _ in result.stream_events():
        pass


def warm_up() -> None:
    """Run a turn with a tool call on a loop of its own. Blocks for about 100 ms: use a thread."""
    asyncio.run(_turn())
