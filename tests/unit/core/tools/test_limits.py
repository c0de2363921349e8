"""Slots of tools and sources: first come, first served, and removed when unused."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.errors import ToolError
from vixio.core.tools.limits import Limits
from vixio.core.tools.types import ToolDefinition, ToolOptions


def tool(name: str, *, concurrency: int = 0, timeout: float = 5.0) -> ToolDefinition:
    return ToolDefinition(
        name, "", source="device", options=ToolOptions(concurrency=concurrency, timeout=timeout)
    )


async def test_slots_are_first_come_first_served() -> None:
    limits = Limits({"device": 1})
    order: list[str] = []

    async def call(name: str) -> None:
        async with limits.slot(tool(name)):
            order.append(f"{name} in")
            await asyncio.sleep(0)
            order.append(f"{name} out")

    await asyncio.gather(*(call(name) for name in "abc"))
    assert order == ["a in", "a out", "b in", "b out", "c in", "c out"]


async def test_slots_not_in_use_are_not_kept() -> None:
    limits = Limits({"device": 2})
    for number in range(100):
        async with limits.slot(tool(f"tool_{number}", concurrency=1)):
            assert len(limits._slots) == 2
    assert not limits._slots


async def test_a_call_without_a_slot_leaves_nothing_behind() -> None:
    limits = Limits()
    async with limits.slot(tool("one", concurrency=1)):
        with pytest.raises(ToolError, match="busy with other calls"):
            async with limits.slot(tool("one", concurrency=1, timeout=0.01)):
                raise AssertionError("there is only one slot")
    assert not limits._slots
    async with limits.slot(tool("one", concurrency=1)):
        pass
