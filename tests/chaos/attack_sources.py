"""Tools of MCP servers and of REST services that fail in every way."""

from __future__ import annotations

import asyncio
import re

from tests.chaos.attack_tools import ready
from tests.chaos.outcome import Outcome
from tests.chaos.raw import RawDevice
from tests.chaos.rogue_mcp import KINDS
from tests.chaos.rogue_service import REST_KINDS, WEB_KINDS

BROKEN_S = 60.0
"""Seconds in which a turn with a broken tool has to end."""

BACK_S = 40.0
"""Seconds in which a source that was broken has to work again: it is tried after 0.5 s, 1, 2, …"""


async def _call_all(
    outcome: Outcome, port: int, source: str, prefix: str, kinds: tuple[str, ...]
) -> None:
    """Call each broken tool, and after each the whole one, from one device."""
    async with outcome.whole(), await RawDevice.admitted(port, source) as device:
        await ready(device, f"{prefix}_ok")
        for kind in kinds:
            said = await device.ask(f"call {prefix}_{kind} {{}}", seconds=BROKEN_S)
            outcome.done += 1
            outcome.saw(said.removeprefix("It was ")[:40] or "no words")
            outcome.expect(said, f"{prefix}_{kind}: the turn ended without a word")
            outcome.expect("forged" not in said, f"{prefix}_{kind}: a forged answer came through")
            outcome.expect(
                await _works(device, f"{prefix}_ok"), f"after {prefix}_{kind} nothing worked"
            )


async def _works(device: RawDevice, alias: str) -> bool:
    loop = asyncio.get_running_loop()
    end = loop.time() + BACK_S
    while loop.time() < end:
        if "whole" in await device.ask(f"call {alias} {{}}", seconds=BROKEN_S):
            return True
        await asyncio.sleep(0.2)
    return False


async def mcp_calls(port: int, *, rounds: int, kinds: tuple[str, ...] = KINDS) -> Outcome:
    """Call tools of a child process that answers wrongly, falls silent, or dies."""
    outcome = Outcome()
    for _ in range(rounds):
        await _call_all(outcome, port, "127.66.50.1", "mcp", kinds)
    return outcome


async def web_calls(port: int, *, rounds: int, kinds: tuple[str, ...] = WEB_KINDS) -> Outcome:
    """Call tools of an MCP server on the network that does the same over HTTP."""
    outcome = Outcome()
    for _ in range(rounds):
        await _call_all(outcome, port, "127.66.51.1", "web", kinds)
    return outcome


async def rest_calls(port: int, *, rounds: int) -> Outcome:
    """Call REST tools, several devices side by side."""
    outcome = Outcome()
    for _ in range(rounds):
        await outcome.together(
            _call_all(outcome, port, f"127.66.52.{index + 1}", "rest", REST_KINDS[index::6])
            for index in range(6)
        )
    return outcome


async def mcp_lists(port: int) -> Outcome:
    """Look at what a list without end and one of ten thousand tools have left with the agent."""
    outcome = Outcome()
    async with outcome.whole(), await RawDevice.admitted(port, "127.66.53.1") as device:
        await ready(device, "mcp_many_0")
        for alias, wanted in {"get_time": "from builtin", "mcp_page_0": "missing"}.items():
            seen = await device.ask(f"look {alias}")
            outcome.done += 1
            outcome.expect(seen.startswith(wanted), f"{alias} is {seen}")
        seen = await device.ask("look mcp_many_0")
        count = int(re.findall(r"(\d+) tools", seen)[0])
        largest = int(re.findall(r"largest (\d+)", seen)[0])
        outcome.saw(f"{count} tools")
        outcome.saw(f"largest {largest}")
        outcome.expect(count <= 300, f"{count} tools were taken")
        outcome.expect(largest <= 20_000, f"a tool of {largest} characters for the model")
    return outcome
