"""Sources of a profile or a device: only its sessions have them, and no other tool is shadowed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from vixio.core.device import DeviceProfile, ToolAccess
from vixio.core.metrics import Counters
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.policy import ToolPolicy
from vixio.core.tools.runtime import RuntimeSettings, ToolRuntime
from vixio.core.tools.session import SessionTools
from vixio.core.tools.source import EVERYBODY, FixedSource, Scope, ToolSource
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.core.tools.types import ToolDefinition, ToolOptions

KITCHEN, HALL = Scope(profile="kitchen"), Scope(profile="hall")
DEVICE = Scope(device="aa:bb")


def tool(name: str, says: str = "", *, concurrency: int = 0) -> ToolDefinition:
    async def answer() -> str:
        return says or name

    options = ToolOptions(concurrency=concurrency)
    return ToolDefinition(name, name, options=options, caller=FunctionCaller(answer))


class Changing(ToolSource):
    def __init__(self, name: str, scope: Scope, *tools: ToolDefinition) -> None:
        super().__init__(name, scope)
        self._tools: tuple[ToolDefinition, ...] = tools
        self.started = self.closed = 0

    async def start(self) -> None:
        self.started += 1

    def tools(self) -> Sequence[ToolDefinition]:
        return self._tools

    def become(self, *tools: ToolDefinition) -> None:
        self._tools = tools
        self.changed()

    async def close(self) -> None:
        self.closed += 1


def of(profile: str, **access: tuple[str, ...]) -> DeviceProfile:
    return DeviceProfile(assigned=profile, tools=ToolAccess(**access))


def names(session: SessionTools) -> list[str]:
    return [each.alias for each in session.toolset.definitions()]


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def run(session: SessionTools, which: ToolDefinition) -> str:
    return (await session.begin_turn(1, "en").run(which, "{}")).for_model()


def found(session: SessionTools, alias: str) -> ToolDefinition:
    which = session.toolset.find(alias)
    assert which is not None
    return which


async def test_only_sessions_of_its_profile_or_device_have_a_source() -> None:
    sources = [
        FixedSource("clock", [tool("time")]),
        FixedSource("lamp", [tool("on")], KITCHEN),
        FixedSource("lamp", [tool("off")], HALL),
        FixedSource("lamp", [tool("dim")], DEVICE),
    ]
    runtime = ToolRuntime(sources)
    assert names(runtime.open("x", "1", of("kitchen"))) == ["time", "on"]
    assert names(runtime.open("y", "2", of("hall"))) == ["time", "off"]
    assert names(runtime.open("aa:bb", "3", of("kitchen"))) == ["time", "on", "dim"]
    assert names(runtime.open("z", "4")) == ["time"], "a device without a profile has no one's"


async def test_what_is_listed_of_the_server_is_what_all_have() -> None:
    runtime = ToolRuntime(
        [FixedSource("clock", [tool("time")]), FixedSource("lamp", [tool("on")], KITCHEN)]
    )
    assert list(runtime.listed()) == ["clock"]
    assert [each.name for each in runtime.sources] == ["clock"]
    assert [each.name for each in runtime.reports()] == ["clock"]
    assert [each.name for each in runtime.reports(KITCHEN)] == ["profile/lamp"]
    assert runtime.reports(HALL) == []


async def test_a_source_comes_and_goes_while_its_sessions_run() -> None:
    runtime = ToolRuntime([FixedSource("clock", [tool("time")])])
    await runtime.start()
    mine, other = runtime.open("x", "1", of("kitchen")), runtime.open("y", "2", of("hall"))
    lamp = Changing("lamp", KITCHEN, tool("on"))
    runtime.exchange([], [lamp])
    await settle()
    assert (names(mine), names(other), lamp.started) == (["time", "on"], ["time"], 1)
    version = other.toolset.version
    lamp.become(tool("on"), tool("off"))
    await settle()
    assert names(mine) == ["time", "on", "off"]
    on = found(mine, "on")
    runtime.exchange([lamp.key], [])
    await settle()
    assert (names(mine), lamp.closed) == (["time"], 1)
    assert other.toolset.version == version, "it was nothing to another profile's session"
    assert "not_found" in await run(mine, on), "a model may still know it"


async def test_a_tool_of_another_profile_cannot_be_called() -> None:
    counters = Counters()
    runtime = ToolRuntime([FixedSource("lamp", [tool("on")], KITCHEN)], counters=counters)
    mine, other = runtime.open("x", "1", of("kitchen")), runtime.open("y", "2", of("hall"))
    on = found(mine, "on")
    assert await run(mine, on) == "on"
    assert "not_found" in await run(other, on)
    assert (counters.get("tool.profile.calls"), counters.get("tool.profile.not_found")) == (2, 1)


async def test_a_session_follows_its_profile() -> None:
    both = [
        FixedSource("lamp", [tool("on", "kitchen")], KITCHEN),
        FixedSource("lamp", [tool("on", "hall")], HALL),
        FixedSource("mine", [tool("dim")], DEVICE),
    ]
    session = ToolRuntime(both).open("aa:bb", "1", of("kitchen"))
    before = found(session, "on")
    assert await run(session, before) == "kitchen"
    session.reconfigure(of("hall"))
    assert names(session) == ["on", "dim"]
    assert await run(session, found(session, "on")) == "hall"
    session.reconfigure(of(""))
    assert names(session) == ["dim"]
    assert "not_found" in await run(session, before)


async def test_a_source_with_a_scope_takes_no_name_of_another() -> None:
    runtime = ToolRuntime([FixedSource("lamp", [tool("on", "user's")], KITCHEN)])
    session = runtime.open("x", "1", of("kitchen"))
    assert names(session) == ["on"]
    session.toolset.replace(DEVICE_SOURCE, [tool("on", "device's")])  # comes later
    runtime.exchange([], [FixedSource("late", [tool("profile_lamp_on", "late")])])
    await settle()
    assert names(session) == ["on", "profile_lamp_on", "profile_lamp_2_on"]
    assert await run(session, found(session, "on")) == "device's"
    assert await run(session, found(session, "profile_lamp_on")) == "late"
    assert await run(session, found(session, "profile_lamp_2_on")) == "user's"


async def test_a_source_with_a_scope_gets_no_rights_by_its_name() -> None:
    policy = ToolPolicy(ToolAccess(allow=("home/*",)))
    runtime = ToolRuntime(
        [FixedSource("home", [tool("time")]), FixedSource("home", [tool("on")], KITCHEN)],
        settings=RuntimeSettings(policy),
    )
    assert names(runtime.open("x", "1", of("kitchen"))) == ["time"]
    denied = ToolRuntime([FixedSource("lamp", [tool("on")], KITCHEN)])
    session = denied.open("x", "1", of("kitchen", deny=("profile/*",)))
    assert names(session) == []


async def test_two_sources_of_one_scope_have_different_names() -> None:
    lamp = FixedSource("lamp", (), KITCHEN)
    with pytest.raises(ValueError, match="must differ"):
        ToolRuntime([lamp, FixedSource("lamp", (), KITCHEN)])
    runtime = ToolRuntime([lamp])
    with pytest.raises(ValueError, match="there is a tool source profile/lamp of kitchen already"):
        runtime.exchange([], [FixedSource("lamp", (), KITCHEN)])
    runtime.exchange([lamp.key], [FixedSource("lamp", (), KITCHEN)])
    runtime.exchange([], [FixedSource("lamp", (), HALL), FixedSource("lamp", ())])


async def test_a_thousand_that_come_and_go_leave_nothing() -> None:
    counters = Counters()
    runtime = ToolRuntime(counters=counters)
    await runtime.start()
    session = runtime.open("x", "1", of("kitchen"))
    for number in range(1_000):
        source = FixedSource(f"lamp{number}", [tool("on")], KITCHEN)
        runtime.exchange([], [source])
        await settle()
        await run(session, found(session, "on"))
        runtime.exchange([source.key], [])
        await settle()
    assert (names(session), session.toolset._sources, runtime._guarded) == ([], {}, {})
    assert counters.get("tool.profile.calls") == 1_000
    assert not [each for each in counters.snapshot() if "lamp" in each]


async def test_one_profile_does_not_use_up_the_slots_of_another() -> None:
    gate = asyncio.Event()

    async def hang() -> str:
        await gate.wait()
        return "late"

    options = ToolOptions(concurrency=1, timeout=5)
    hanging = ToolDefinition("on", "on", options=options, caller=FunctionCaller(hang))
    quick = tool("on", "quick", concurrency=1)
    runtime = ToolRuntime(
        [FixedSource("lamp", [hanging], KITCHEN), FixedSource("lamp", [quick], HALL)]
    )
    mine, other = runtime.open("x", "1", of("kitchen")), runtime.open("y", "2", of("hall"))
    waits = asyncio.create_task(run(mine, found(mine, "on")))
    await settle()
    async with asyncio.timeout(1):
        assert await run(other, found(other, "on")) == "quick"
    gate.set()
    assert await waits == "late"


def test_the_name_says_whose_it_is() -> None:
    assert (FixedSource("a", ()).name, FixedSource("a", ()).key) == ("a", "a")
    assert FixedSource("a", (), DEVICE).name == "own/a"
    assert FixedSource("a", (), DEVICE).key == "own/a of aa:bb"
    assert EVERYBODY.covers("x", "y")
