"""Whether a device's tools are known, and the limited wait for them."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.clock import now
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.station import StationContext
from vixio.core.tools.toolset import DEVICE_SOURCE, DeviceToolsState, ToolSet
from vixio.core.tools.types import ToolDefinition
from vixio.testing import run_virtual

LAMP = ToolDefinition("lamp", "")


@pytest.mark.parametrize(
    ("comes", "since", "waits", "known"),
    [
        (0.5, 0.0, 0.5, True),
        (1.9, 0.0, 1.9, True),
        (2.5, 0.0, 2.0, False),
        (2.5, -1.5, 0.5, False),
        (0.2, -5.0, 0.0, False),
        (2.5, 1.0, 2.5, True),
    ],
)
def test_a_turn_waits_for_the_list_for_a_limited_time(
    comes: float, since: float, waits: float, known: bool
) -> None:
    async def turn() -> None:
        state = DeviceToolsState()
        state.expect(2.0)
        asyncio.get_running_loop().call_later(comes, state.settle)
        assert await state.settled(since=now() + since) is known
        assert now() == pytest.approx(waits)
        assert state.pending is not known

    run_virtual(turn())


def test_nothing_is_waited_for_unless_a_list_is_expected() -> None:
    async def turn() -> None:
        state = DeviceToolsState()
        assert not state.pending
        assert await state.settled(since=now())
        assert now() == 0

    run_virtual(turn())


@pytest.mark.parametrize("tools", [(), (LAMP,)])
def test_the_first_list_settles_it_once_the_watchers_have_it(
    tools: tuple[ToolDefinition, ...],
) -> None:
    async def turn() -> None:
        toolset = ToolSet()
        toolset.device.expect(2.0)
        pending: list[bool] = []
        toolset.watch(lambda _: pending.append(toolset.device.pending))
        toolset.replace("local", [LAMP])
        toolset.replace(DEVICE_SOURCE, tools)
        assert not toolset.device.pending
        assert pending == [True] * (2 if tools else 1)

    run_virtual(turn())


def test_a_wait_of_a_turn_is_counted_from_its_end() -> None:
    async def turn() -> None:
        context = StationContext("s", "d", History(), ToolSet(), Counters(), lambda work: None)
        context.tools.device.expect(2.0)
        context.timeline(1).mark("turn_end", now())
        await asyncio.sleep(0.5)
        await context.tools_ready(1)
        assert now() == pytest.approx(2.0)
        await context.tools_ready(2)
        assert now() == pytest.approx(4.0), "a turn without an end is counted from now on"
        assert set(context.timelines) == {1}
        context.tools.replace(DEVICE_SOURCE, [LAMP])
        await context.tools_ready(3)
        assert now() == pytest.approx(4.0)
        assert context.counters.snapshot() == {
            "turn.waited_for_tools": 2,
            "turn.without_device_tools": 2,
        }

    run_virtual(turn())
