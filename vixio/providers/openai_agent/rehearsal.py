"""One turn for nobody: the SDK's late imports and caches cost 60 ms once, not the first user.

Importing this imports the SDK. It speaks to no network: the phrase book stands in for the model.
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
    agent = Agent("rehearsal", model=PhraseBookModel("en"), tools=[get_time])
    result = Runner.run_streamed(agent, "what time is it")
    async for _ in result.stream_events():
        pass


def rehearse() -> None:
    """Run a turn with a tool call on a loop of its own. Blocks for some 100 ms: use a thread."""
    asyncio.run(_turn())
