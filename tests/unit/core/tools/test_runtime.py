"""The runtime: changing sources, limits, caps, counters, log."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest

from vixio.core.device import DeviceProfile, ToolAccess
from vixio.core.metrics import Counters
from vixio.core.tools.arguments import read_arguments
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.policy import ToolPolicy
from vixio.core.tools.runner import DIRECT
from vixio.core.tools.runtime import RuntimeSettings, ToolRuntime
from vixio.core.tools.session import SessionTools
from vixio.core.tools.source import Fault, FixedSource, ToolSource
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition, ToolOptions
from vixio.tools import ToolContext


async def echo(text: str) -> str:
    """Say it again."""
    return text


ECHO = func_to_tool_definition(echo)


async def settle(runtime: ToolRuntime) -> None:
    """Let the runtime tell its sessions of what changed."""
    for _ in range(10):
        await asyncio.sleep(0)


class Changing(ToolSource):
    def __init__(self, name: str, *tools: ToolDefinition) -> None:
        super().__init__(name)
        self._tools: tuple[ToolDefinition, ...] = tools
        self.closed = 0

    def tools(self) -> Sequence[ToolDefinition]:
        return self._tools

    def become(self, *tools: ToolDefinition) -> None:
        self._tools = tools
        self.changed()

    async def close(self) -> None:
        self.closed += 1


class Broken(FixedSource):
    async def start(self) -> None:
        raise OSError("down")


def named(name: str) -> ToolDefinition:
    return ToolDefinition(name, name, caller=FunctionCaller(echo))


def names(session: SessionTools) -> list[str]:
    return [tool.alias for tool in session.toolset.definitions()]


async def run(session: SessionTools, tool: ToolDefinition, arguments: str = "{}") -> str:
    turn = session.begin_turn(1, "en")
    return (await turn.run(tool, arguments)).for_model()


async def test_every_session_follows_every_source() -> None:
    shelf, web = Changing("shelf", named("a")), Changing("web", named("a"))
    runtime = ToolRuntime([shelf, web])
    first, second = runtime.open("x", "1"), runtime.open("y", "2")
    assert names(first) == names(second) == ["a", "web_a"]
    shelf.become()
    await settle(runtime)
    assert names(first) == names(second) == ["a"], "the name is free again"
    await second.close()
    shelf.become(named("b"), named("c"))
    await settle(runtime)
    assert names(first) == ["b", "c", "a"], "in the place that it had"
    assert names(second) == ["a"]
    await runtime.close()
    assert (shelf.closed, web.closed) == (1, 1)


async def test_nothing_changes_when_the_same_list_comes_again() -> None:
    shelf = Changing("shelf", named("a"), named("b"))
    runtime = ToolRuntime([shelf])
    session = runtime.open("x", "1")
    seen: list[int] = []
    session.toolset.watch(lambda _: seen.append(session.toolset.version))
    version = session.toolset.version
    listed = session.toolset.definitions()
    shelf.become(named("a"), named("b"))
    await settle(runtime)
    assert session.toolset.version == version
    assert session.toolset.definitions() is listed
    assert seen == []


async def test_a_hundred_sessions_are_updated_in_parts() -> None:
    shelf = Changing("shelf")
    runtime = ToolRuntime([shelf])
    sessions = [runtime.open(str(number), str(number)) for number in range(120)]
    shelf.become(named("a"))
    shelf.become(named("b"))
    await settle(runtime)
    assert all(names(session) == ["b"] for session in sessions)


async def test_a_source_that_does_not_start_costs_its_own_tools() -> None:
    counters = Counters()
    runtime = ToolRuntime([Broken("down", ()), FixedSource("up", [ECHO])], counters=counters)
    await runtime.start()
    assert names(runtime.open("x", "1")) == ["echo"]
    assert counters.get("tool.down.start_failed") == 1
    assert runtime.faults == [Fault("down", "did not start: OSError: down")]


async def test_sources_are_exchanged_while_sessions_run() -> None:
    shelf, web, late = (Changing(name, named(name)) for name in ("shelf", "web", "late"))
    runtime = ToolRuntime([shelf, web])
    early = Changing("early", named("early"))
    runtime.exchange([], [early])  # before the start: started with the others
    await runtime.start()
    session = runtime.open("x", "1")
    assert names(session) == ["shelf", "web", "early"]
    other = Changing("shelf", named("another"))
    runtime.exchange(["shelf", "web"], [other, late])
    await settle(runtime)
    assert sorted(names(session)) == ["another", "early", "late"]
    assert sorted(names(runtime.open("y", "2"))) == ["another", "early", "late"]
    assert [each.name for each in runtime.sources] == ["early", "shelf", "late"]
    assert (shelf.closed, web.closed, early.closed) == (1, 1, 0)
    web.become(named("b"))  # it has ended
    await settle(runtime)
    assert sorted(names(session)) == ["another", "early", "late"]
    runtime.exchange([], [Broken("down", ())])
    await settle(runtime)
    assert runtime.faults == [Fault("down", "did not start: OSError: down")]
    await runtime.close()
    assert (other.closed, late.closed, early.closed) == (1, 1, 1)


@pytest.mark.parametrize("taken", [("a", "a"), ("device",)])
def test_names_of_sources_are_unique(taken: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="must differ"):
        ToolRuntime([FixedSource(name, ()) for name in taken])


async def test_options_of_the_settings_win_field_by_field() -> None:
    policy = ToolPolicy(
        options={
            "web/*": {"timeout": 5.0, "confirm": True},
            "web/search": {"confirm": False},
            "echo": {"retries": 9},
        }
    )
    runtime = ToolRuntime(
        [FixedSource("web", [named("search"), named("post")]), FixedSource("local", [ECHO])],
        settings=RuntimeSettings(policy=policy),
    )
    options = {tool.name: tool.options for tool in runtime.open("x", "1").toolset.definitions()}
    assert options == {
        "search": ToolOptions(timeout=5.0),
        "post": ToolOptions(timeout=5.0, confirm=True),
        "echo": ToolOptions(retries=9),
    }


async def test_a_device_may_use_less_than_others() -> None:
    policy = ToolPolicy(ToolAccess(allow=("web/*", "echo")))
    runtime = ToolRuntime(
        [
            FixedSource("web", [named("search"), named("post")]),
            FixedSource("x", [ECHO, named("z")]),
        ],
        settings=RuntimeSettings(policy=policy),
    )

    def offered(access: ToolAccess) -> list[str]:
        return names(runtime.open("a", "1", DeviceProfile(tools=access)))

    assert offered(ToolAccess()) == ["search", "post", "echo"]
    assert offered(ToolAccess(deny=("web/po?t",))) == ["search", "echo"]
    assert offered(ToolAccess(allow=("echo", "z"))) == ["echo"]


async def test_a_profile_can_ask_for_consent_but_not_take_it_away() -> None:
    policy = ToolPolicy(ToolAccess(confirm=("web/*",)), {"web/*": {"confirm": False}})
    runtime = ToolRuntime(
        [FixedSource("web", [named("search")]), FixedSource("x", [ECHO])],
        settings=RuntimeSettings(policy=policy),
    )
    session = runtime.open("a", "1", DeviceProfile(tools=ToolAccess(confirm=("echo",))))
    assert {tool.name: tool.options.confirm for tool in session.toolset.definitions()} == {
        "search": True,
        "echo": True,
    }


async def test_another_profile_changes_the_tools_of_a_session() -> None:
    runtime = ToolRuntime([FixedSource("web", [named("search"), named("post")])])
    session = runtime.open("a", "1", DeviceProfile(user="Ann"))
    session.toolset.replace("device", [replace(ECHO, source="device")])
    seen: list[list[str]] = []
    session.toolset.watch(lambda tools: seen.append([tool.name for tool in tools]))
    session.reconfigure(DeviceProfile(user="Ben", tools=ToolAccess(deny=("post", "echo"))))
    assert (session.user, names(session), seen) == ("Ben", ["search"], [["search"]])
    session.reconfigure(DeviceProfile())
    assert sorted(names(session)) == ["echo", "post", "search"]
    assert len(seen) == 2


async def test_a_source_serves_only_so_many_calls_at_once() -> None:
    running, most = 0, 0
    go, full = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            full.set()
        await go.wait()
        running -= 1
        return "done"

    tools = [
        ToolDefinition(name, name, caller=FunctionCaller(work), options=ToolOptions(timeout=5.0))
        for name in "ab"
    ]
    runtime = ToolRuntime(
        [FixedSource("shop", tools)], settings=RuntimeSettings(source_concurrency={"shop": 2})
    )
    sessions = [runtime.open(str(number), str(number)) for number in range(3)]
    calls = [
        asyncio.create_task(run(session, tool))
        for session in sessions
        for tool in session.toolset.definitions()
    ]
    await asyncio.wait_for(full.wait(), 30)
    go.set()
    assert await asyncio.gather(*calls) == ["done"] * 6
    assert most == 2


async def test_a_call_that_waits_too_long_for_a_slot_fails() -> None:
    hold = asyncio.Event()

    async def work() -> str:
        """Work."""
        await hold.wait()
        return "done"

    slow = func_to_tool_definition(work, options=ToolOptions(timeout=5.0, concurrency=1))
    impatient = ToolDefinition(
        "work", "", caller=FunctionCaller(work), options=ToolOptions(timeout=0.01, concurrency=1)
    )
    runtime = ToolRuntime()
    session = runtime.open("x", "1")
    first = asyncio.create_task(run(session, slow))
    await asyncio.sleep(0)
    assert '"busy"' in await run(session, impatient)
    hold.set()
    assert await first == "done"


async def test_long_results_are_cut_once() -> None:
    tool = func_to_tool_definition(echo, options=ToolOptions(max_result_chars=5))
    session = ToolRuntime().open("x", "1")
    assert await run(session, tool, '{"text": "abcdefgh"}') == "abcde… [cut: 8 characters in all]"


async def test_calls_are_counted_by_source_and_their_words_are_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "vixio")
    counters = Counters()
    quiet = ToolRuntime([FixedSource("local", [ECHO])], counters=counters)
    session = quiet.open("x", "1")
    (tool,) = session.toolset.definitions()
    await run(session, tool, '{"text": "private"}')
    await run(session, tool, '{"text": 5}')
    assert not any("private" in str(vars(record)) for record in caplog.records)
    open_ = ToolRuntime([], settings=RuntimeSettings(log_content=True))
    await run(open_.open("x", "2"), tool, '{"text": "allowed"}')
    assert [vars(record)["result"] for record in caplog.records] == ["allowed"]
    counted = {name: n for name, n in counters.snapshot().items() if not name.endswith(".us")}
    assert counted == {
        "tool.local.calls": 2,
        "tool.local.failed": 1,
        "tool.local.invalid_arguments": 1,
    }
    assert counters.get("tool.local.us") > 0


async def test_a_cancelled_call_is_counted_and_stays_cancelled() -> None:
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    counters = Counters()
    session = ToolRuntime(counters=counters).open("x", "1")
    task = asyncio.create_task(run(session, func_to_tool_definition(hang)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert counters.get("tool.local.cancelled") == 1


async def test_a_tool_may_not_call_what_the_user_has_to_confirm() -> None:
    asked: list[str] = []

    class Device:
        async def call_tool(
            self,
            tool_name: str,
            arguments: JsonObject,
            *,
            timeout: float | None = None,
            context: ToolContext | None = None,
        ) -> ToolCallResult:
            asked.append(tool_name)
            return ToolCallResult("", True, "true")

    device = Device()
    session = ToolRuntime().open("x", "1")
    session.toolset.replace(
        "device",
        [
            ToolDefinition("self.lamp", "", caller=device),
            ToolDefinition("self.door", "", caller=device, options=ToolOptions(confirm=True)),
        ],
    )
    found: list[str] = []

    async def use(context: ToolContext) -> None:
        """Use the device."""
        for name in ("self.lamp", "self.door", "self.none"):
            result = await context.call_device(name)
            found.append(result.error_type)

    await run(session, func_to_tool_definition(use))
    assert found == ["", "denied", "not_found"]
    assert asked == ["self.lamp"]


async def test_without_a_session_nothing_can_be_confirmed() -> None:
    asking = func_to_tool_definition(echo, options=ToolOptions(confirm=True))
    assert (await DIRECT.run(ECHO, '{"text": "hi"}')).result == "hi"
    refused = await DIRECT.run(asking, '{"text": "hi"}')
    assert refused.error_type == "confirmation_required"


def test_a_schema_is_compiled_once_for_a_definition() -> None:
    assert read_arguments(ECHO, '{"text": "a"}') == {"text": "a"}
    fresh = ToolDefinition("n", "", {"properties": {"n": {"type": "integer"}}})
    assert read_arguments(fresh, '{"n": 1}') == {"n": 1}
