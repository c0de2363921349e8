"""Every effect of a turn × every way in which a prepared turn may go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.session.conversation import on_virtual_time
from tests.support.tool_turns import FakeDevice, Talk
from vixio.core.chunk import Chunk, Farewell, Notice, ToolReturned, UserTurn
from vixio.core.history import Turn, UserMessage
from vixio.core.metrics import ModelUse
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import ToolOptions
from vixio.core.turns.runner import PreparedTurn, TurnRunner
from vixio.testing import ScriptedAgent
from vixio.testing.providers import Step, ToolUse
from vixio.tools import ToolContext

READ_ONLY = ToolOptions(read_only=True)
TURN_ID = 50
USAGE = ModelUse("m", 3, 5)


async def show(context: ToolContext) -> str:
    """Show a notice, which is no effect of the call itself."""
    context.show("look here")
    return "shown"


async def leave(context: ToolContext) -> str:
    """End the conversation."""
    context.end_conversation()
    return "bye"


class Saved:
    """A memory that listens to the history."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def turn_closed(self, turn: Turn) -> None:
        self.turns.append(turn)

    def turn_forgotten(self, turn: Turn) -> None:
        raise AssertionError(f"forgotten: {turn}")


class World:
    """A conversation, a turn of it that is prepared, and a reader of its reply."""

    def __init__(self) -> None:
        self.device = FakeDevice()
        self.looked = 0
        self.script: list[Step] = ["Shall I unlock it?"]
        self.read: list[Chunk] = []
        self.saved = Saved()
        self.agent = ScriptedAgent(lambda text: self.script)
        own = [func_to_tool_definition(each, options=READ_ONLY) for each in (show, leave)]
        own.append(func_to_tool_definition(self.look, options=READ_ONLY))
        self.runtime = ToolRuntime([FixedSource("own", own)])
        self.talk = Talk(self.runtime, self.agent)
        self.talk.tools.toolset.replace(
            "device", [self.device.tool("lamp"), self.device.tool("unlock", confirm=True)]
        )
        self.history = self.talk.history
        self.counters = self.runtime.counters
        self.runner = TurnRunner(self.agent, self.talk.context, follow_tools=True)

    async def look(self) -> str:
        """Look at something."""
        self.looked += 1
        return "seen"

    async def ask_for_consent(self) -> None:
        """A turn before, in which the assistant has asked whether to unlock."""
        self.script = [ToolUse("unlock", {}), "Shall I unlock it?"]
        await self.talk.turn("unlock the door")
        self.history.listener = self.saved

    @asynccontextmanager
    async def prepared(self, text: str) -> AsyncIterator[PreparedTurn]:
        async with aclosing(self.runner.prepare(UserTurn(TURN_ID, text))) as turn:
            reading = asyncio.create_task(self._read(turn))
            yield turn
            await turn.aclose()
            await reading

    async def _read(self, turn: PreparedTurn) -> None:
        async for chunk in turn.events():
            self.read.append(chunk)

    def end(self) -> None:
        """The reply was heard to its end."""
        self.history.close(TURN_ID)


@dataclass(frozen=True)
class Effect:
    """What the user says, what the agent does then, and whether it had the effect."""

    name: str
    says: str
    script: tuple[Step, ...]
    made: Callable[[World], bool]

    def __str__(self) -> str:
        return self.name


def _timeline(world: World) -> Any:  # noqa: ANN401 - a record or nothing
    return world.talk.context.timelines.get(TURN_ID)


def _read(world: World, kind: type[Chunk]) -> bool:
    return any(isinstance(chunk, kind) for chunk in world.read)


EFFECTS = (
    Effect("history", "hello", ("Hi.",), lambda w: UserMessage("hello") in w.history.items()),
    Effect("timeline", "hello", ("Hi.",), lambda w: _timeline(w) is not None),
    Effect("yes", "yes", (ToolUse("unlock", {}),), lambda w: w.device.asked == [("unlock", {})]),
    Effect("yes counted", "yes", ("Okay.",), lambda w: w.counters.get("tool.confirm.agreed") == 1),
    Effect("no", "no", ("Okay.",), lambda w: w.counters.get("tool.confirm.cancelled") == 1),
    Effect(
        "question",
        "unlock it",
        (ToolUse("unlock", {}),),
        # One from the turn before.
        lambda w: w.counters.get("tool.device.confirmation_required") == 2,
    ),
    Effect("tool", "lamp", (ToolUse("lamp", {}),), lambda w: w.device.asked == [("lamp", {})]),
    Effect("tool's result", "look", (ToolUse("look", {}),), lambda w: _read(w, ToolReturned)),
    Effect(
        "usage", "hello", (USAGE, "Hi."), lambda w: _timeline(w) and _timeline(w).models == [USAGE]
    ),
    Effect("notice", "look", (ToolUse("show", {}),), lambda w: _read(w, Notice)),
    Effect("farewell", "bye", (ToolUse("leave", {}), "Bye."), lambda w: _read(w, Farewell)),
    Effect("memory", "hello", ("Hi.",), lambda w: [t.turn_id for t in w.saved.turns] == [TURN_ID]),
)

every_effect = pytest.mark.parametrize("effect", EFFECTS, ids=str)


async def world_for(effect: Effect) -> World:
    world = World()
    await world.ask_for_consent()
    world.script = list(effect.script)
    return world


async def settled() -> None:
    """Virtual time: all that can happen has happened."""
    await asyncio.sleep(1.0)


@every_effect
@on_virtual_time
async def test_none_while_prepared_and_none_when_closed(effect: Effect) -> None:
    world = await world_for(effect)
    before = (world.history.items(), dict(world.talk.context.timelines), world.counters.snapshot())
    async with world.prepared(effect.says) as turn:
        await settled()
        assert world.agent.requests[-1].text == effect.says, "the model is asked"
        assert not effect.made(world)
        await turn.aclose()
        assert world.agent.running == 0
        turn.commit()
        await settled()
        world.end()
        assert not effect.made(world)
    counted = world.counters.snapshot()
    if effect.name == "usage":
        assert counted["model.tokens.output"] == 5, "tokens are spent all the same"
    unchanged = {key: counted[key] for key in counted if "tool.own" not in key}
    unchanged = {key: value for key, value in unchanged.items() if not key.startswith("model.")}
    assert (world.history.items(), dict(world.talk.context.timelines), unchanged) == before
    await world.talk.tools.close()


@every_effect
@on_virtual_time
async def test_made_when_committed_before_anything_happens(effect: Effect) -> None:
    world = await world_for(effect)
    async with world.prepared(effect.says) as turn:
        turn.commit()
        await settled()
        world.end()
    assert effect.made(world)


@every_effect
@on_virtual_time
async def test_made_when_committed_after_the_agent_has_answered(effect: Effect) -> None:
    world = await world_for(effect)
    async with world.prepared(effect.says) as turn:
        await settled()
        turn.commit()
        turn.commit()
        await settled()
        world.end()
    assert effect.made(world)


@every_effect
@on_virtual_time
async def test_they_stay_when_closed_after_the_commit(effect: Effect) -> None:
    world = await world_for(effect)
    world.script.append(60.0)
    async with world.prepared(effect.says) as turn:
        turn.commit()
        await settled()
        assert world.agent.running == 1
        await turn.aclose()
        assert world.agent.running == 0
        world.end()
        assert effect.made(world)


@on_virtual_time
async def test_what_the_user_agreed_to_waits_for_the_turn_that_takes_place() -> None:
    """The first try to say yes is given up: the question is still open."""
    world = World()
    await world.ask_for_consent()
    world.script = [ToolUse("unlock", {})]
    async with world.prepared("yes"):
        await settled()
    assert world.device.asked == []
    async with world.prepared("yes please") as turn:
        turn.commit()
        await settled()
    assert world.device.asked == [("unlock", {})]


@on_virtual_time
async def test_the_words_of_a_command_agree_to_nothing() -> None:
    world = World()
    await world.ask_for_consent()
    world.script = [ToolUse("unlock", {})]
    async with aclosing(world.runner.prepare(UserTurn(TURN_ID, "yes", commanded=True))) as turn:
        turn.commit()
        await settled()
    assert world.device.asked == []
    assert world.counters.get("tool.confirm.cancelled") == 1


@on_virtual_time
async def test_a_read_only_tool_runs_before_the_commit_and_only_once() -> None:
    world = World()
    world.script = [ToolUse("look", {}), "Seen."]
    async with world.prepared("look") as turn:
        await settled()
        assert world.looked == 1
        assert world.read == []
        turn.commit()
        await settled()
        assert world.looked == 1
        assert len(world.read) == 3
        assert [type(item).__name__ for item in world.history.items()] == [
            *("UserMessage", "ToolCallItem", "ToolResultItem", "AssistantMessage")
        ]


@on_virtual_time
async def test_text_is_handed_out_before_the_commit_and_stands_in_the_history_once() -> None:
    world = World()
    world.script = ["One, ", "two, ", 1.5, "three."]
    async with world.prepared("count") as turn:
        await settled()
        assert len(world.read) == 2
        assert not world.history.items()
        turn.commit()
        await settled()
        world.end()
    assert [getattr(item, "text", "") for item in world.history.items()] == [
        "count",
        "One, two, three.",
    ]
