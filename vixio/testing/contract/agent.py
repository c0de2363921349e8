"""The contract suite of agents."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest
import pytest_asyncio

from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.errors import ProviderError
from vixio.core.history import (
    INTERRUPTED,
    AssistantMessage,
    HistoryItem,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.core.tools.context import ToolContext
from vixio.core.tools.local import BUILTIN_LOCAL_TOOLS
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition
from vixio.providers.agent import AgentBackend, AgentEvent, AgentProvider, AgentRequest
from vixio.testing.contract.base import LIMIT, Contract


class AgentBench(ABC):
    """Prepares the agent's next turn. Each method returns the user's words for it."""

    backend: AgentBackend

    @abstractmethod
    def talk(self) -> str:
        """Prepare an answer in words alone."""

    @abstractmethod
    def lamp(self) -> str:
        """Prepare a call of ``self.lamp.turn_on``, and an answer after it."""

    @abstractmethod
    def volume(self) -> str:
        """Prepare a call of ``self.audio_speaker.set_volume`` with 30, and an answer after it."""

    @abstractmethod
    def time(self) -> str:
        """Prepare a call of ``get_time``, and an answer after it."""

    def stands_around(self, task: asyncio.Task[object]) -> bool:
        """Return whether ``task`` belongs to the test setup, such as a vendor's stand-in."""
        return False


class Device:
    """The tools of a device, and the calls that it got."""

    def __init__(self, run: Callable[[str], ToolCallResult] | None = None) -> None:
        self.asked: list[tuple[str, JsonObject]] = []
        self.holding: asyncio.Event | None = None
        self.let_go = asyncio.Event()
        self._run = run or (lambda name: ToolCallResult("", True, "true"))

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        self.asked.append((tool_name, arguments))
        if self.holding is not None:
            self.holding.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.let_go.set()
        return self._run(tool_name)

    def tools(self) -> list[ToolDefinition]:
        volume = {
            "type": "object",
            "properties": {"volume": {"type": "integer", "minimum": 0, "maximum": 100}},
            "required": ["volume"],
        }
        return [
            ToolDefinition("self.audio_speaker.set_volume", "", volume, "device", caller=self),
            ToolDefinition("self.lamp.turn_on", "", source="device", caller=self),
        ]


class _HoldingRunner:
    """Runs every call itself, once ``go`` is set."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go = asyncio.Event()

    async def run(self, tool: ToolDefinition, arguments: str, call_id: str = "") -> ToolCallResult:
        self.reached.set()
        await self.go.wait()
        return ToolCallResult(call_id, True, "run elsewhere")


async def _turn(
    agent: AgentProvider, said: str, history: list[HistoryItem] | None = None
) -> list[AgentEvent]:
    async with asyncio.timeout(LIMIT):
        return [event async for event in agent.reply(AgentRequest(3, said, history or []))]


def _words(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta)).strip()


def _returned(events: list[AgentEvent]) -> ToolReturned:
    (event,) = [event for event in events if isinstance(event, ToolReturned)]
    return event


class AgentContract(Contract):
    """The behaviour of every agent. A subclass returns the agent under test by :meth:`create`."""

    def create(self) -> AbstractAsyncContextManager[AgentBench]:
        """Yield the bench with its backend not started; the suite starts and closes it."""
        raise NotImplementedError(f"{type(self).__name__} has to say what it tests: create()")

    @pytest.fixture
    def creator(self) -> Callable[[], AbstractAsyncContextManager[AgentBench]]:
        """Return the function that makes the bench. Override it with ``params`` to test several."""
        return self.create

    @pytest_asyncio.fixture
    async def bench(
        self, creator: Callable[[], AbstractAsyncContextManager[AgentBench]]
    ) -> AsyncIterator[AgentBench]:
        """Return a bench whose backend has started."""
        async with creator() as made:
            await made.backend.start()
            yield made
            await made.backend.close()

    @pytest_asyncio.fixture
    async def agent(self, bench: AgentBench) -> AsyncIterator[AgentProvider]:
        """Return the agent of a session, with the built-in tools."""
        provider = bench.backend.create()
        await provider.initialize(BUILTIN_LOCAL_TOOLS, "Be brief.")
        yield provider
        await provider.close()

    async def test_it_answers_in_words(self, bench: AgentBench, agent: AgentProvider) -> None:
        events = await _turn(agent, bench.talk())
        assert _words(events)
        assert all(event.turn_id == 3 for event in events)
        assert not [event for event in events if not isinstance(event, TextDelta)]

    async def test_a_call_and_its_answer_are_told_before_the_words(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        device = Device()
        await agent.update_tools(device.tools())
        events = await _turn(agent, bench.volume())
        assert device.asked == [("self.audio_speaker.set_volume", {"volume": 30})]
        kinds = [type(event) for event in events]
        assert kinds[:2] == [ToolCalled, ToolReturned]
        assert set(kinds[2:]) == {TextDelta}
        called, returned = events[0], events[1]
        assert isinstance(called, ToolCalled)
        assert isinstance(returned, ToolReturned)
        assert called.call_id == returned.call_id != ""
        assert json.loads(called.arguments) == {"volume": 30}
        assert (returned.output, returned.success) == ("true", True)
        assert 0 <= returned.seconds < LIMIT

    async def test_calls_go_through_the_runner_of_the_request(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        device = Device()
        runner = _HoldingRunner()
        await agent.update_tools(device.tools())
        reply = agent.reply(AgentRequest(3, bench.lamp(), runner=runner))
        async with asyncio.timeout(LIMIT):
            assert isinstance(await anext(reply), ToolCalled)
            following = asyncio.ensure_future(anext(reply))
            await runner.reached.wait()
            assert not following.done()
            runner.go.set()
            returned = await following
            rest = [event async for event in reply]
        assert isinstance(returned, ToolReturned)
        assert returned.output == "run elsewhere"
        assert _words(rest)
        assert device.asked == []

    async def test_without_a_runner_a_call_waits_for_the_commit(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        device = Device()
        asked, go = asyncio.Event(), asyncio.Event()

        async def committed() -> None:
            asked.set()
            await go.wait()

        await agent.update_tools(device.tools())
        reply = agent.reply(AgentRequest(3, bench.lamp(), committed=committed))
        async with asyncio.timeout(LIMIT):
            assert isinstance(await anext(reply), ToolCalled)
            following = asyncio.ensure_future(anext(reply))
            await asked.wait()
            assert device.asked == []
            go.set()
            assert isinstance(await following, ToolReturned)
            assert _words([event async for event in reply])
        assert len(device.asked) == 1

    async def test_local_functions_stay_whatever_the_device_brings(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        await agent.update_tools(Device().tools())
        await agent.update_tools([])
        events = await _turn(agent, bench.time())
        assert _returned(events).success
        assert _words(events)

    async def test_a_failing_tool_does_not_end_the_turn(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        device = Device(lambda name: ToolCallResult("", False, error="burnt", error_type="failed"))
        await agent.update_tools(device.tools())
        events = await _turn(agent, bench.lamp())
        returned = _returned(events)
        assert not returned.success
        assert json.loads(returned.output)["error"]["message"] == "burnt"
        assert _words(events)

    async def test_a_client_that_raises_does_not_end_the_turn(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        def explode(name: str) -> ToolCallResult:
            raise RuntimeError(name)

        await agent.update_tools(Device(explode).tools())
        events = await _turn(agent, bench.lamp())
        assert not _returned(events).success
        assert _words(events)

    async def test_new_tools_replace_the_old_ones(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        old, new = Device(), Device()
        await agent.update_tools(old.tools())
        await _turn(agent, bench.lamp())
        await agent.update_tools(new.tools())
        await agent.update_tools(new.tools())
        await _turn(agent, bench.lamp())
        assert (len(old.asked), len(new.asked)) == (1, 1)
        await agent.update_tools([])
        assert _words(await _turn(agent, bench.lamp()))
        assert (len(old.asked), len(new.asked)) == (1, 1)

    async def test_tools_that_vanish_in_their_own_call_do_not_end_the_turn(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        device = Device(
            lambda name: ToolCallResult("", False, error="gone", error_type="disconnected")
        )
        device_tools = device.tools()

        async def pull_the_plug() -> None:
            await agent.update_tools([])

        async def call_tool(
            tool_name: str,
            arguments: JsonObject,
            *,
            timeout: float | None = None,
            context: ToolContext | None = None,
        ) -> ToolCallResult:
            await pull_the_plug()
            return await Device.call_tool(device, tool_name, arguments, timeout=timeout)

        device.call_tool = call_tool  # type: ignore[method-assign]  # this device unplugs itself
        await agent.update_tools(device_tools)
        events = await _turn(agent, bench.lamp())
        assert not _returned(events).success
        assert _words(events)

    async def test_closing_the_reply_stops_the_tool_and_leaves_no_task(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        device = Device()
        device.holding = asyncio.Event()
        await agent.update_tools(device.tools())
        reply = agent.reply(AgentRequest(3, bench.lamp()))
        before = asyncio.all_tasks()
        async with asyncio.timeout(LIMIT):
            assert isinstance(await anext(reply), ToolCalled)
            await device.holding.wait()
            await reply.aclose()  # type: ignore[attr-defined]  # an async generator behind the interface
        assert device.let_go.is_set()
        left = asyncio.all_tasks() - before
        assert all(bench.stands_around(task) for task in left)
        device.holding = None
        assert _words(await _turn(agent, bench.talk()))

    async def test_any_history_is_taken(self, bench: AgentBench, agent: AgentProvider) -> None:
        await agent.update_tools(Device().tools())
        history: list[HistoryItem] = [
            UserMessage("turn on the lamp"),
            ToolCallItem("call_0", "self_lamp_turn_on", "{}"),
            ToolResultItem("call_0", "true"),
            AssistantMessage("It is"),
            UserMessage("what time is it"),
            ToolCallItem("call_0", "get_time", "{}"),
            ToolResultItem("call_0", INTERRUPTED),
            UserMessage("hm"),
        ]
        events = await _turn(agent, bench.volume(), history)
        assert _returned(events).output == "true"
        assert _words(events)

    async def test_sessions_of_one_backend_do_not_share_tools(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        mine, theirs = Device(), Device()
        other = bench.backend.create()
        await other.initialize()
        await agent.update_tools(mine.tools())
        await other.update_tools(theirs.tools())
        await _turn(agent, bench.lamp())
        assert (len(mine.asked), len(theirs.asked)) == (1, 0)
        await other.close()
        assert _words(await _turn(agent, bench.talk()))

    async def test_starting_again_changes_nothing(
        self, bench: AgentBench, agent: AgentProvider
    ) -> None:
        await asyncio.gather(bench.backend.start(), bench.backend.start())
        assert _words(await _turn(agent, bench.talk()))

    async def test_a_closed_agent_refuses(self, bench: AgentBench, agent: AgentProvider) -> None:
        await agent.close()
        await agent.close()
        with pytest.raises(ProviderError):
            await _turn(agent, "hello")
