"""A device whose tools are all others every second, and whose user talks meanwhile."""

from __future__ import annotations

import asyncio
import random

from firmware_test_client import DeviceConfig, SimulatedDevice, Tool
from firmware_test_client.errors import DeviceError
from tests.load.tool_churn.model import DONE, GONE
from tests.load.tool_churn.notes import TOOLS, Notes, Origin, clock, first_origin, origin
from tests.load.tool_churn.offers import Offers

TURN_LIMIT = 60.0
"""Seconds; the machine may be busy, and a service that was killed in mid-call is silent for 15 s
before it counts as gone. A turn that takes longer hangs."""


PATIENCE_S = 120.0
"""Seconds beyond its time for which a device goes on until enough has happened."""


class ChangingDevice:
    """Device ``number``; ``every`` seconds between two sets of tools."""

    def __init__(
        self, number: int, url: str, notes: Notes, offers: Offers | None, every: float
    ) -> None:
        self._number = number
        self._notes = notes
        self._offers = offers
        self._every = every
        self._generation = 0
        self._random = random.Random(number)
        self._listed = asyncio.Event()
        self.device = SimulatedDevice(
            DeviceConfig(
                ws_url=url,
                device_id=f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}",
                mode="manual",
                decode=False,
                keep_frames=False,
            )
        )
        self._called = 0
        self._answer = self.device.mcp.answer
        self.device.mcp.answer = self._answered

    async def live(self, until: float, calls: int = 0) -> None:
        """Connect, change and talk until the clock shows ``until``; then switch off.

        It goes on until its tools have answered ``calls`` calls and changed three times as often,
        and until it is offered exactly the tools of the services that are left.
        """
        self._renew()
        await self.device.start()
        changing = asyncio.create_task(self._change())
        try:
            await self._talk(until, calls)
        finally:
            changing.cancel()
            await asyncio.wait([changing])
            await self.device.close()

    async def _change(self) -> None:
        await asyncio.sleep(self._random.uniform(0.0, self._every))  # not all in step
        while True:
            self._renew()
            await asyncio.sleep(self._every)

    def _renew(self) -> None:
        """Take all tools of the generation away and put those of the next one there."""
        for tool in list(self.device.mcp.tools):
            if origin(tool.name) is not None:
                self.device.remove_tool(tool.name, notify=False)
        self._generation += 1
        for number in range(TOOLS):
            self.device.add_tool(
                self._tool(Origin(self._number, self._generation, number)),
                notify=number == TOOLS - 1,
            )
        self._notes.counts["changes"] += 1

    def _tool(self, where: Origin) -> Tool:
        async def called() -> str:
            # Where it takes a moment, the tool may be gone before it answers.
            await asyncio.sleep(self._random.choice((0.0, 0.0, 0.3)))
            self._called += 1
            return where.answer

        return Tool(where.name, f"Do thing {where.number}.", (), called)

    def _answered(self, number: int, what: str, body: str) -> None:
        """The device sends an MCP answer; a list of tools is what turns begin with."""
        self._answer(number, what, body)
        if what == "tools/list" and (found := first_origin(body)) is not None:
            self._notes.listed(self._number, found.generation)
            self._listed.set()

    async def _talk(self, until: float, calls: int) -> None:
        turn = 0
        while clock() < until or (self._lacks(calls) and clock() < until + PATIENCE_S):
            turn += 1
            self._listed.clear()
            async with asyncio.timeout(TURN_LIMIT):
                await self._listed.wait()
            await self._turn(turn)
            self.device.records.replies.clear()
            self.device.mcp.calls.clear()
            await asyncio.sleep(self._random.uniform(0.0, self._every))
        if self._offers is not None and not self._offers.exact(self._number):
            difference = self._offers.difference(self._number)
            self._notes.wrong(f"device {self._number}: {difference}")

    def _lacks(self, calls: int) -> bool:
        """Whether less has happened than has to."""
        if self._called < calls or self._generation < 3 * calls:
            return True
        return self._offers is not None and not self._offers.exact(self._number)

    async def _turn(self, turn: int) -> None:
        began = clock()
        self._notes.begun(self._number)
        try:
            reply = await self.device.type_text(
                f"device {self._number} turn {turn}", timeout=TURN_LIMIT
            )
        except DeviceError as error:
            self._notes.wrong(f"device {self._number}: turn {turn} has no end: {error}")
            return
        self._notes.turn_ms.append((clock() - began) * 1000)
        self._notes.counts["turns"] += 1
        if reply.text not in (DONE, GONE):
            self._notes.wrong(f"device {self._number}: turn {turn} ended with {reply.text[:60]!r}")
