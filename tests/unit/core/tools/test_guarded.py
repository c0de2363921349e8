"""Tool sources that raise, hang or recover: each costs its own tools only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from tests.session.conversation import on_virtual_time
from vixio.core.clock import now
from vixio.core.metrics import Counters
from vixio.core.timeouts import Timeouts
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.runtime import RuntimeSettings, ToolRuntime
from vixio.core.tools.session import SessionTools
from vixio.core.tools.source import Fault, FixedSource, ToolSource
from vixio.core.tools.types import ToolDefinition

LIMITS = Timeouts(tool_start=5.0, tool_close=3.0)


def named(name: str) -> ToolDefinition:
    async def call() -> str:
        return name

    return ToolDefinition(name, name, caller=FunctionCaller(call))


def names(session: SessionTools) -> list[str]:
    return [tool.alias for tool in session.toolset.definitions()]


class Fragile(ToolSource):
    """Fails where it is told to. ``go``: set when its start and its close may return."""

    def __init__(self, name: str = "fragile") -> None:
        super().__init__(name)
        self.listed: object = (named("one"),)
        self.error: Exception | None = None
        self.go = asyncio.Event()
        self.go.set()
        self.closed = 0

    async def start(self) -> None:
        await self.go.wait()
        self._fail()

    async def ready(self) -> None:
        await self.go.wait()
        self._fail()

    def tools(self) -> Sequence[ToolDefinition]:
        self._fail()
        return self.listed  # type: ignore[return-value]  # what a source returns by mistake

    async def close(self) -> None:
        await self.go.wait()
        self.closed += 1
        self._fail()

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error


class Made:
    """A runtime of a fragile source and a sound one."""

    def __init__(self) -> None:
        self.fragile = Fragile()
        self.counters = Counters()
        self.runtime = ToolRuntime(
            [self.fragile, FixedSource("sound", [named("two")])],
            settings=RuntimeSettings(timeouts=LIMITS),
            counters=self.counters,
        )

    def count(self, what: str) -> int:
        return self.counters.get(f"tool.fragile.{what}")

    @property
    def reasons(self) -> list[str]:
        return [fault.reason for fault in self.runtime.faults]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        f"{vars(record)['source']}: {vars(record)['reason']}"
        for record in caplog.records
        if record.levelno == logging.WARNING
    ]


@on_virtual_time
async def test_a_list_that_cannot_be_read_stays_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    made = Made()
    first = made.runtime.open("x", "1")
    made.fragile.error = RuntimeError("not\nconnected")
    made.fragile.changed()
    second = made.runtime.open("y", "2")
    await asyncio.sleep(0.1)
    assert names(first) == names(second) == ["one", "two"]
    reason = "its tools cannot be listed: RuntimeError: not connected"
    assert made.runtime.faults == [Fault("fragile", reason)]
    assert warnings(caplog) == [f"fragile: {reason}"], "once, however often it fails"
    assert made.count("list_failed") == 2


@on_virtual_time
async def test_a_source_that_works_again_serves_every_session() -> None:
    made = Made()
    made.fragile.error = RuntimeError("not connected")
    first = made.runtime.open("x", "1")
    assert names(first) == ["two"]
    made.fragile.error = None
    second = made.runtime.open("y", "2")
    await asyncio.sleep(0.1)
    assert names(first) == names(second) == ["one", "two"]
    assert made.runtime.faults == []
    made.fragile.error = RuntimeError("gone again")
    made.fragile.changed()
    await asyncio.sleep(0.1)
    made.fragile.error, made.fragile.listed = None, (named("three"),)
    made.fragile.changed()
    await asyncio.sleep(0.1)
    assert names(first) == names(second) == ["three", "two"]


@pytest.mark.parametrize("listed", [None, ["no tool"], iter([1])])
@on_virtual_time
async def test_a_list_of_something_else_is_no_list(listed: object) -> None:
    made = Made()
    made.fragile.listed = listed
    assert names(made.runtime.open("x", "1")) == ["two"]
    assert len(made.runtime.faults) == 1


@pytest.mark.parametrize(
    ("bad", "place", "reason"),
    [
        ("no tool", "fragile/2", "str is no ToolDefinition"),
        (ToolDefinition(3, "x"), "fragile/3", "its name is no text, or empty"),  # type: ignore[arg-type]
        (ToolDefinition("", "x"), "fragile/2", "its name is no text, or empty"),
        (ToolDefinition("x", None), "fragile/x", "its description is no text"),  # type: ignore[arg-type]
        (ToolDefinition("x", "", "y"), "fragile/x", "its parameters are no JSON Schema"),  # type: ignore[arg-type]
    ],
)
@on_virtual_time
async def test_a_malformed_tool_costs_itself(
    bad: object, place: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = Made()
    made.fragile.listed = [named("one"), bad, named("three")]
    for device in ("x", "y"):
        assert names(made.runtime.open(device, "1")) == ["one", "three", "two"]
    assert made.runtime.faults == [Fault(place, reason)]
    (record,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert (vars(record)["location"], vars(record)["reason"]) == (place, reason)
    assert made.count("malformed") == 1
    made.fragile.listed = [named("one")]
    assert names(made.runtime.open("z", "1")) == ["one", "two"]
    assert made.runtime.faults == []


@on_virtual_time
async def test_a_slow_start_is_not_waited_for_and_its_tools_come_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = Made()
    made.fragile.listed = ()
    made.fragile.go.clear()
    began = now()
    await made.runtime.start()
    assert now() - began == LIMITS.tool_start
    assert made.reasons == ["it is still starting after 5 s"]
    assert warnings(caplog) == ["fragile: it is still starting after 5 s"]
    assert made.count("start_late") == 1
    session = made.runtime.open("x", "1")
    assert names(session) == ["two"]
    made.fragile.listed = (named("one"),)
    made.fragile.go.set()
    await asyncio.sleep(0.1)
    assert names(session) == ["one", "two"]
    assert made.runtime.faults == []


@on_virtual_time
async def test_a_slow_start_that_fails_in_the_end_has_failed() -> None:
    made = Made()
    made.fragile.go.clear()
    await made.runtime.start()
    made.fragile.error = OSError("no route")
    made.fragile.go.set()
    await asyncio.sleep(0.1)
    assert made.reasons == ["did not start: OSError: no route"]
    made.fragile.error = None
    await made.runtime.start()
    assert made.runtime.faults == []


@on_virtual_time
async def test_a_start_that_cancels_itself_has_failed() -> None:
    class Cancelled(FixedSource):
        async def start(self) -> None:
            raise asyncio.CancelledError

    runtime = ToolRuntime([Cancelled("own", ())])
    await runtime.start()
    assert runtime.faults == [Fault("own", "did not start: it was cancelled")]


@on_virtual_time
async def test_closing_ends_a_start_under_way() -> None:
    made = Made()
    made.fragile.go.clear()
    await made.runtime.start()
    closing = asyncio.create_task(made.runtime.close())
    await asyncio.sleep(0.1)
    made.fragile.go.set()
    await closing
    assert made.fragile.closed == 1
    assert made.reasons == ["it is still starting after 5 s"], "nothing of it went on"


@on_virtual_time
async def test_a_source_that_does_not_close_keeps_nothing_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = Made()
    other = Fragile("other")
    runtime = ToolRuntime([other, made.fragile], settings=RuntimeSettings(timeouts=LIMITS))
    made.fragile.go.clear()
    began = now()
    await runtime.close()
    assert now() - began == LIMITS.tool_close
    assert other.closed == 1
    other.error = OSError("broker gone")
    await runtime.close()
    assert other.closed == 2
    assert warnings(caplog) == [
        "fragile: it is still closing after 3 s",
        "other: did not close: OSError: broker gone",
    ]


@on_virtual_time
async def test_it_is_known_in_time_whether_a_source_works() -> None:
    made = Made()
    await made.runtime.start()
    await made.runtime.ready(40.0)
    assert made.runtime.faults == []
    made.fragile.go.clear()
    await made.runtime.ready(40.0)
    assert made.reasons == ["it is not ready after 40 s"]
    made.fragile.go.set()
    made.fragile.error = OSError("no licence")
    await made.runtime.ready(40.0)
    assert made.reasons == ["OSError: no licence"]
    made.fragile.error = None
    await made.runtime.ready(40.0)
    assert made.runtime.faults == []
