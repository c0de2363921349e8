"""The turn runner: bounds, failures, cancellation, and agents without a tool runtime."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import pytest

from tests.session.conversation import on_virtual_time
from tests.support.tool_turns import FakeDevice, Talk
from tests.unit.core.turns.runners import TIMEOUTS, all_of, runner_of, running
from vixio.core.agent import AgentEvent, AgentRequest
from vixio.core.chunk import Notice, TextDelta, UserTurn
from vixio.core.clock import now
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.core.session.tasks import SessionTasks
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import ToolDefinition
from vixio.core.turns.buffer import AGENT_LIMIT, TOOL_LIMIT
from vixio.core.turns.runner import TurnRunner
from vixio.testing import ScriptedAgent
from vixio.testing.providers import Step, ToolUse
from vixio.tools import ToolContext


@pytest.mark.parametrize(
    ("script", "limit"), [((10.0, "late"), 4.0), (("One ", 3.0, "two ", 10.0, "late"), 6.0)]
)
@on_virtual_time
async def test_an_agent_that_is_silent_for_too_long_has_failed(
    script: tuple[Step, ...], limit: float
) -> None:
    runner, _ = runner_of(*script)
    async with aclosing(runner.prepare(UserTurn(1, "hello"))) as turn:
        turn.commit()
        with pytest.raises(ProviderTimeout) as failed:
            await all_of(turn)
        assert (failed.value.provider, failed.value.seconds) == ("scripted", limit)
        assert "no answer within" in str(failed.value)


@on_virtual_time
async def test_what_a_tool_says_is_a_sign_of_life() -> None:
    async def build(context: ToolContext) -> str:
        """Take long, and say so."""
        for _ in range(4):
            await asyncio.sleep(5.0)
            context.show("still at it")
        return "built"

    source = FixedSource("own", [func_to_tool_definition(build)])
    runner, _ = runner_of(ToolUse("build", {}), "Done.", runtime=ToolRuntime([source]))
    async with aclosing(runner.prepare(UserTurn(1, "build it"))) as turn:
        turn.commit()
        chunks = await all_of(turn)
    assert [chunk for chunk in chunks if isinstance(chunk, Notice)] == 4 * [
        Notice(1, "still at it")
    ]
    assert now() == pytest.approx(20.0)


@on_virtual_time
async def test_a_turn_that_is_never_committed_fails_in_time() -> None:
    """The waiting call does not hold the model's stream for ever."""
    runner, talk = runner_of(ToolUse("lamp", {}))
    device = FakeDevice()
    talk.tools.toolset.replace("device", [device.tool("lamp")])
    async with aclosing(runner.prepare(UserTurn(1, "lamp"))) as turn:
        await asyncio.sleep(5.9)
        assert running(talk) == 1
        await asyncio.sleep(0.2)
        assert running(talk) == 0
        turn.commit()
        with pytest.raises(ProviderTimeout):
            await all_of(turn)
    assert device.asked == []


@on_virtual_time
async def test_the_time_until_the_commit_is_not_the_agents() -> None:
    runner, talk = runner_of(ToolUse("lamp", {}), "On.")
    device = FakeDevice()
    device.delay = 5.0
    talk.tools.toolset.replace("device", [device.tool("lamp")])
    async with aclosing(runner.prepare(UserTurn(1, "lamp"))) as turn:
        await asyncio.sleep(4.0)
        turn.commit()
        assert (await all_of(turn))[-1] == TextDelta(1, "On.")


@on_virtual_time
async def test_a_failure_before_the_commit_is_raised_to_the_reader() -> None:
    runner, talk = runner_of("So ", ProviderError("scripted", "no more"))
    async with aclosing(runner.prepare(UserTurn(1, "hello"))) as turn:
        await asyncio.sleep(1.0)
        turn.commit()
        events = turn.events()
        assert await anext(events) == TextDelta(1, "So ")
        with pytest.raises(ProviderError, match="no more"):
            await anext(events)
    assert [type(item).__name__ for item in talk.history.items()] == [
        "UserMessage",
        "AssistantMessage",
    ]


@on_virtual_time
async def test_an_agent_waits_for_a_reader_that_is_slow() -> None:
    class Endless(ScriptedAgent):
        made = 0

        async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
            for _ in range(3 * AGENT_LIMIT):
                self.made += 1
                yield TextDelta(request.turn_id, "and ")

    endless = Endless()
    runner, _ = runner_of(agent=endless)
    async with aclosing(runner.prepare(UserTurn(1, "count"))) as turn:
        turn.commit()
        await asyncio.sleep(100.0)
        assert endless.made == AGENT_LIMIT
        assert len(await all_of(turn)) == 3 * AGENT_LIMIT


@on_virtual_time
async def test_a_tool_that_says_more_than_is_read_is_cut_short() -> None:
    async def chatter(context: ToolContext) -> str:
        """Say a lot."""
        for number in range(2 * TOOL_LIMIT):
            context.show(str(number))
        return "done"

    source = FixedSource("own", [func_to_tool_definition(chatter)])
    runner, _ = runner_of(ToolUse("chatter", {}), "Done.", runtime=ToolRuntime([source]))
    async with aclosing(runner.prepare(UserTurn(1, "chat"))) as turn:
        turn.commit()
        await asyncio.sleep(1.0)
        chunks = await all_of(turn)
    assert len([chunk for chunk in chunks if isinstance(chunk, Notice)]) == TOOL_LIMIT - 1
    assert chunks[-1] == TextDelta(1, "Done.")


async def test_what_a_tool_says_in_a_thread_is_part_of_the_reply() -> None:
    def work(context: ToolContext) -> str:
        """Work in a thread."""
        context.show("in a thread")
        return "done"

    source = FixedSource("own", [func_to_tool_definition(work)])
    runner, _ = runner_of(ToolUse("work", {}), "Done.", runtime=ToolRuntime([source]))
    async with aclosing(runner.prepare(UserTurn(1, "work"))) as turn:
        turn.commit()
        async with asyncio.timeout(60):
            chunks = await all_of(turn)
    assert [type(chunk).__name__ for chunk in chunks] == [
        *("ToolCalled", "Notice", "ToolReturned", "TextDelta")
    ]


@on_virtual_time
async def test_without_a_runtime_the_agent_is_asked_at_the_commit() -> None:
    """It would run the tools itself, past the runner."""
    device = FakeDevice()
    agent = ScriptedAgent(lambda text: [ToolUse("lamp", {}), "On."])
    talk = Talk(ToolRuntime(), agent)
    talk.context.session_tools = None
    talk.tools.toolset.replace("device", [device.tool("lamp")])
    runner = TurnRunner(agent, talk.context, TIMEOUTS, follow_tools=True)
    async with aclosing(runner.prepare(UserTurn(1, "lamp"))) as turn:
        await asyncio.sleep(1.0)
        assert agent.requests == []
        turn.commit()
        assert (await all_of(turn))[-1] == TextDelta(1, "On.")
    assert agent.requests[0].history == []
    assert device.asked == [("lamp", {})]


@pytest.mark.parametrize("committed", [True, False])
@on_virtual_time
async def test_a_waiting_call_is_cancelled_with_the_turn(committed: bool) -> None:
    runner, talk = runner_of(ToolUse("lamp", {}), "On.")
    device = FakeDevice()
    device.delay = 5.0
    talk.tools.toolset.replace("device", [device.tool("lamp")])
    before = asyncio.all_tasks()
    async with aclosing(runner.prepare(UserTurn(1, "lamp"))) as turn:
        if committed:
            turn.commit()
        await asyncio.sleep(1.0)
        assert running(talk) == 1
    assert running(talk) == 0
    assert asyncio.all_tasks() <= before
    assert len(device.asked) == committed


@on_virtual_time
async def test_the_history_is_awaited_before_the_turn_is_put_into_it() -> None:
    """Even if the turn is committed at once."""
    runner, talk = runner_of("Hi.")
    arrived = asyncio.Event()

    async def recall() -> None:
        await arrived.wait()

    talk.history.recall = recall
    async with aclosing(runner.prepare(UserTurn(1, "hello"))) as turn:
        turn.commit()
        await asyncio.sleep(1.0)
        assert not talk.history.items()
        arrived.set()
        await all_of(turn)
    assert len(talk.history.items()) == 2


class _Converter(ScriptedAgent):
    """Takes a second for new tools. ``given``: their names, as of each update."""

    def __init__(self) -> None:
        super().__init__(lambda text: ())
        self.given: list[list[str]] = []
        self.at_once = 0
        self.most_at_once = 0
        self.fail_next = False

    async def update_tools(self, tools: Sequence[ToolDefinition]) -> None:
        self.given.append([tool.name for tool in tools])
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(1.0)
        self.at_once -= 1
        if self.fail_next:
            self.fail_next = False
            raise ProviderError(self.name, "not these")
        await super().update_tools(tools)


def following(agent: ScriptedAgent) -> Talk:
    """Return a conversation whose tools a runner hands to ``agent``."""
    talk = Talk(ToolRuntime(), ScriptedAgent(lambda text: ()))
    TurnRunner(agent, talk.context, TIMEOUTS, follow_tools=True)
    return talk


@on_virtual_time
async def test_tools_that_change_faster_than_the_agent_takes_them_do_not_pile_up() -> None:
    agent, device = _Converter(), FakeDevice()
    talk = following(agent)
    for number in range(200):
        talk.tools.toolset.replace("device", [device.tool(f"lamp_{number}")])
        await asyncio.sleep(0.1)
    await asyncio.sleep(3.0)
    assert agent.most_at_once == 1
    assert agent.given[-1] == ["lamp_199"]
    assert 10 < len(agent.given) <= 22
    talk.tools.toolset.replace("device", [])
    await asyncio.sleep(3.0)
    assert agent.given[-1] == []


@on_virtual_time
async def test_tools_are_followed_after_an_update_that_failed() -> None:
    agent, device = _Converter(), FakeDevice()
    talk = following(agent)
    session = SessionTasks(talk.context.counters)
    talk.context.spawn = session.spawn

    async def change() -> None:
        agent.fail_next = True
        for name in ("lamp", "fan"):
            talk.tools.toolset.replace("device", [device.tool(name)])
            await asyncio.sleep(3.0)

    await session.run(change)
    assert agent.given == [["lamp"], ["fan"]]
    assert talk.context.counters.get("session.defect") == 1


class _Writer(ScriptedAgent):
    """Yields words without ever waiting; counts them."""

    def __init__(self, words: int) -> None:
        super().__init__(lambda text: ())
        self._words = words
        self.written = 0

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        for _ in range(self._words):
            self.written += 1
            yield TextDelta(request.turn_id, "word ")


@on_virtual_time
async def test_words_that_come_together_are_read_together() -> None:
    """Each turn of a busy loop takes milliseconds, and a sentence has ten words."""
    runner, _ = runner_of(agent=_Writer(10))
    loop = asyncio.get_running_loop()
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(count)

    async with aclosing(runner.prepare(UserTurn(1, "hello"))) as turn:
        turn.commit()
        events = turn.events()
        await anext(events)
        count()
        assert len([chunk async for chunk in events]) == 9
    assert turns < 5


@on_virtual_time
async def test_an_agent_that_never_waits_ends_with_its_turn() -> None:
    agent = _Writer(10_000)
    runner, _ = runner_of(agent=agent)
    async with aclosing(runner.prepare(UserTurn(1, "hello"))) as turn:
        turn.commit()
        await anext(turn.events())
    assert agent.written < 100


@on_virtual_time
async def test_a_runner_that_follows_no_tools_hands_none_out() -> None:
    agent, device = _Converter(), FakeDevice()
    talk = Talk(ToolRuntime(), ScriptedAgent())
    TurnRunner(agent, talk.context, TIMEOUTS)
    talk.tools.toolset.replace("device", [device.tool("lamp")])
    await asyncio.sleep(3.0)
    assert agent.given == []
