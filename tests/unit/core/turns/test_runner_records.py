"""What a turn tells its agent, its tools, its timeline and its counters."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from tests.session.conversation import on_virtual_time
from tests.unit.core.turns.runners import all_of, runner_of
from vixio.core.chunk import UserTurn
from vixio.core.clock import now
from vixio.core.errors import ProviderTimeout
from vixio.core.history import AssistantMessage
from vixio.core.metrics import ModelUse
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import ToolOptions
from vixio.testing import ScriptedAgent
from vixio.testing.providers import ToolUse
from vixio.tools import ToolContext


@pytest.mark.parametrize(("spoken", "language"), [("de", "de"), ("", "en")])
@on_virtual_time
async def test_the_agent_and_the_tools_know_the_turn(spoken: str, language: str) -> None:
    languages: list[str] = []

    async def look(context: ToolContext) -> str:
        """Look at something."""
        languages.append(context.language)
        return "seen"

    source = FixedSource("own", [func_to_tool_definition(look)])
    runner, talk = runner_of(ToolUse("look", {}), "Hi.", runtime=ToolRuntime([source]))
    said = UserTurn(7, "hello", language=spoken, emotion="happy")
    async with aclosing(runner.prepare(said)) as turn:
        turn.commit()
        await all_of(turn)
    assert isinstance(talk.agent, ScriptedAgent)
    (request,) = talk.agent.requests
    assert (request.turn_id, request.text, request.language) == (7, "hello", language)
    assert (request.device_id, request.emotion) == ("aa:bb:cc", "happy")
    assert request.voice == "en"
    assert request.committed is not None
    await request.committed()
    assert languages == ["en"]


@on_virtual_time
async def test_tools_on_their_way_are_awaited_from_the_end_of_the_users_words() -> None:
    runner, talk = runner_of("Hi.")
    talk.tools.toolset.device.expect(5.0)
    talk.context.timeline(1).mark("turn_end", now())
    await asyncio.sleep(4.0)
    async with aclosing(runner.prepare(UserTurn(1, "hello"))) as turn:
        turn.commit()
        await all_of(turn)
    assert now() == pytest.approx(5.0)


@on_virtual_time
async def test_what_a_tool_says_is_part_of_the_conversation() -> None:
    async def look(context: ToolContext) -> str:
        """Look at something."""
        context.say("Let me see.")
        return "seen"

    source = FixedSource("own", [func_to_tool_definition(look)])
    runner, talk = runner_of(ToolUse("look", {}), runtime=ToolRuntime([source]))
    async with aclosing(runner.prepare(UserTurn(1, "look"))) as turn:
        turn.commit()
        await all_of(turn)
    assert AssistantMessage("Let me see. ") in talk.history.items()


@on_virtual_time
async def test_a_tool_that_has_said_something_may_still_take_too_long() -> None:
    async def build(context: ToolContext) -> str:
        """Say something, and never end."""
        await asyncio.sleep(3.0)
        context.show("still at it")
        await asyncio.sleep(1_000.0)
        return "built"

    source = FixedSource("own", [func_to_tool_definition(build)])
    runner, _ = runner_of(ToolUse("build", {}), runtime=ToolRuntime([source]))
    async with aclosing(runner.prepare(UserTurn(1, "build it"))) as turn:
        turn.commit()
        with pytest.raises(ProviderTimeout):
            await all_of(turn)
    assert now() == pytest.approx(3.0 + 6.0)


@pytest.mark.parametrize("committed_at", [0.0, 5.0])
@on_virtual_time
async def test_the_timeline_has_when_it_happened(committed_at: float) -> None:
    async def look() -> str:
        """Look at something."""
        return "seen"

    own = [func_to_tool_definition(look, options=ToolOptions(read_only=True))]
    runner, talk = runner_of(
        2.0, "Hi.", ToolUse("look", {}), runtime=ToolRuntime([FixedSource("own", own)])
    )
    async with aclosing(runner.prepare(UserTurn(1, "hello"))) as turn:
        await asyncio.sleep(committed_at)
        turn.commit()
        await all_of(turn)
    timeline = talk.context.timeline(1)
    assert timeline.marks == {"first_token": 2.0}
    assert timeline.called_tools is True


@on_virtual_time
async def test_what_an_answer_costs_is_counted() -> None:
    use = ModelUse("m", 300, 50, 200, ("big", "bigger"))
    runner, talk = runner_of(use, "Hi.", use)
    async with aclosing(runner.prepare(UserTurn(1, "hello"))) as turn:
        turn.commit()
        await all_of(turn)
    counted = talk.context.counters.snapshot()
    assert {name: counted[name] for name in counted if name.startswith("model.")} == {
        "model.answers.m": 2,
        "model.tokens.input": 600,
        "model.tokens.cached": 400,
        "model.tokens.output": 100,
        "model.passed_over.big": 2,
        "model.passed_over.bigger": 2,
    }


@pytest.mark.parametrize("committed", [True, False])
@on_virtual_time
async def test_what_acts_waits_for_the_commit(committed: bool) -> None:
    lit: list[str] = []

    async def lamp() -> None:
        """Light the lamp."""
        lit.append("on")

    tool = func_to_tool_definition(lamp)
    runner, talk = runner_of(runtime=ToolRuntime([FixedSource("own", [tool])]))
    async with aclosing(runner.prepare(UserTurn(1, "lamp"))) as turn:
        await asyncio.sleep(1.0)
        assert isinstance(talk.agent, ScriptedAgent)
        tools = talk.agent.requests[0].runner
        assert tools is not None
        calls = [asyncio.create_task(tools.run(tool, "{}", "c7"))]
        calls.append(asyncio.create_task(tools.run(tool, "{}")))
        await asyncio.sleep(1.0)
        assert lit == []
        if committed:
            turn.commit()
            await asyncio.sleep(1.0)
    results = [await call for call in calls]
    assert {result.error_type for result in results} == {"" if committed else "disconnected"}
    assert len(lit) == (2 if committed else 0)
    if not committed:
        assert [result.call_id for result in results] == ["c7", ""]
