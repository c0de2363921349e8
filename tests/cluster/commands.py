"""Commands that all nodes send to devices, each carried out once at most."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

from tests.cluster.fleet import Fleet, Node
from tests.cluster.talkers import Crowd
from vixio.core.commands import CommandStatus

PAUSE_S = 0.1


class Commander:
    """Sends from each node one command after another to the devices of a crowd."""

    def __init__(self, fleet: Fleet, crowd: Crowd) -> None:
        self._fleet = fleet
        self._devices = [each.config.device_id for each in crowd.talkers]
        self._numbers = itertools.count(1)
        self.sent: dict[int, str] = {}
        """The device of each command."""
        self.results: dict[int, CommandStatus] = {}
        self.done: Counter[tuple[int, str]] = Counter()
        """How many were carried out, by the number of the node that sent them and the device."""

    async def send(self, node: Node) -> None:
        """Send from one node until it is cancelled, also over its ends."""
        devices: Iterator[str] = itertools.cycle(self._devices)
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_unix_connection(
                    node.settings.with_suffix(".sock")
                )
                try:
                    while True:
                        await self._send_one(node, next(devices), reader, writer)
                finally:
                    writer.close()
            await asyncio.sleep(PAUSE_S)

    async def all_reach_all(self, *, seconds: float) -> None:
        """Wait until each node has had another command carried out by each device."""
        left = {(each.number, device) for each in self._fleet.nodes for device in self._devices}
        before = self.done.copy()
        try:
            async with asyncio.timeout(seconds):
                while left:
                    left = {each for each in left if self.done[each] == before[each]}
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"no command within {seconds:g} s: {sorted(left)}") from None

    def check(self) -> None:
        """Check that each was carried out once at most, for its device, and if that was said."""
        noted: Counter[int] = Counter()
        path = self._fleet.folder / "noted"
        for line in path.read_text(encoding="utf-8").splitlines():
            number, device_id, _ = line.split()
            noted[int(number)] += 1
            assert self.sent[int(number)] == device_id, line
        twice = [number for number, times in noted.items() if times > 1]
        assert not twice, f"carried out twice: {twice}"
        done = {number for number, status in self.results.items() if status is CommandStatus.DONE}
        assert done <= noted.keys()
        refused = {
            number
            for number, status in self.results.items()
            if status in (CommandStatus.NOT_CONNECTED, CommandStatus.FAILED)
        }
        assert not refused & noted.keys()

    async def _send_one(
        self,
        node: Node,
        device_id: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        number = next(self._numbers)
        self.sent[number] = device_id
        writer.write(f"{number} {device_id}\n".encode())
        answer = (await reader.readuntil(b"\n")).decode().split()
        assert int(answer[0]) == number
        self.results[number] = status = CommandStatus(answer[1])
        if status is CommandStatus.DONE:
            self.done[node.number, device_id] += 1
        await asyncio.sleep(PAUSE_S)


@asynccontextmanager
async def commands(fleet: Fleet, crowd: Crowd) -> AsyncIterator[Commander]:
    """Have all nodes send commands until the end of the context."""
    made = Commander(fleet, crowd)
    tasks = [asyncio.create_task(made.send(each)) for each in fleet.nodes]
    try:
        yield made
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
