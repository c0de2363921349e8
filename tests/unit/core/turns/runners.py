"""A turn runner with an agent that follows a script."""

from __future__ import annotations

from tests.support.tool_turns import Talk
from vixio.core.chunk import Chunk
from vixio.core.timeouts import Timeouts
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.turns.runner import PreparedTurn, TurnRunner
from vixio.testing import ScriptedAgent
from vixio.testing.providers import Step

TIMEOUTS = Timeouts(agent_first=4.0, agent_next=6.0)


def runner_of(
    *script: Step, runtime: ToolRuntime | None = None, agent: ScriptedAgent | None = None
) -> tuple[TurnRunner, Talk]:
    agent = agent or ScriptedAgent(lambda text: script)
    talk = Talk(runtime or ToolRuntime(), agent)
    return TurnRunner(agent, talk.context, TIMEOUTS, follow_tools=True), talk


def running(talk: Talk) -> int:
    """How many replies the agent is writing."""
    assert isinstance(talk.agent, ScriptedAgent)
    return talk.agent.running


async def all_of(turn: PreparedTurn) -> list[Chunk]:
    return [chunk async for chunk in turn.events()]
