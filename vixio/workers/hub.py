"""The supervisor's side of what worker processes have to know of each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from loguru import logger

from vixio.core.neighbours import DEVICES
from vixio.workers.memories import Memories
from vixio.workers.tables import Row, Tables
from vixio.workers.wire import Message, Wire

RELEASE_S: Final = 2.0
"""A process has so long to end the session of a device that has come to another one. The device is
what waits, so what the old session had still to write may come too late for it."""

HEALTH_S: Final = 1.0
"""A process that does not answer for its health in so many seconds is reported without it."""

Ready = Callable[[int, dict[str, Any]], None]
"""Told a process's number, and what it says of itself, when it accepts devices."""


class Hub:
    """Knows which process has which device, how many of what all have, and what devices remember.

    Processes are called by numbers. ``on_ready`` is told of each that accepts devices.
    """

    def __init__(self, on_ready: Ready = lambda number, about: None) -> None:
        self._on_ready = on_ready
        self._wires: dict[int, Wire] = {}
        self._owners: dict[str, int] = {}
        self._tables = Tables()
        self._memories = Memories()
        self._tasks: set[asyncio.Task[None]] = set()

    async def attend(self, number: int, wire: Wire) -> None:
        """Serve one process until it is gone; then all that it had is nobody's."""
        self._wires[number] = wire
        try:
            for (table, key), count in list(self._tables.seen_by(number)):
                wire.send("count", table, key, count)
            while (message := await wire.receive()) is not None:
                self._handle(number, wire, message)
        except ValueError as error:
            logger.bind(worker=number, error=type(error).__name__).error("a worker talks nonsense")
        finally:
            del self._wires[number]
            for row in self._tables.rows_of(number):
                self._tell(number, row, 0)
            for device in [each for each, owner in self._owners.items() if owner == number]:
                del self._owners[device]

    async def health(self) -> list[dict[str, Any]]:
        """Return what each process says of its health; those that do not answer are left out."""
        wires = list(self._wires.values())
        answers = await asyncio.gather(*(wire.ask("health", seconds=HEALTH_S) for wire in wires))
        return [answer for answer in answers if isinstance(answer, dict)]

    async def close(self) -> None:
        """End what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _handle(self, number: int, wire: Wire, message: Message) -> None:
        match message:
            case ["tell", str(table), str(key), int(count)]:
                self._tell(number, (table, key), count)
            case ["act", str(kind), str(key), int(done)]:
                for other, to in self._wires.items():
                    if other != number:
                        to.send("act", kind, key, done)
            case ["claim", int(request), str(device)]:
                self._spawn(self._claim(number, wire, request, device))
            case ["leave", str(device)]:
                self._tell(number, (DEVICES, device), 0)
                if self._owners.get(device) == number:
                    del self._owners[device]
            case ["remember", str(device), str(text)]:
                self._memories.put(device, text)
            case ["health", int(request)]:
                self._spawn(self._answer_health(wire, request))
            case ["answer", int(request), body]:
                wire.answered(request, body)
            case ["ready", dict(about)]:
                self._on_ready(number, about)
            case _:
                raise ValueError("no message of a worker")

    def _tell(self, number: int, row: Row, count: int) -> None:
        if self._tables.put(number, row, count):
            for other, wire in self._wires.items():
                if other != number:
                    wire.send("count", *row, self._tables.others(other, row))

    async def _claim(self, number: int, wire: Wire, request: int, device: str) -> None:
        before = self._owners.get(device)
        self._owners[device] = number
        self._tell(number, (DEVICES, device), 1)
        if before is not None and before != number and (previous := self._wires.get(before)):
            await previous.ask("release", device, seconds=RELEASE_S)
        # A process that had it itself knows as much.
        memory = "" if before == number else self._memories.get(device)
        wire.send("answer", request, memory)

    async def _answer_health(self, wire: Wire, request: int) -> None:
        wire.send("answer", request, await self.health())

    def _spawn(self, work: Any) -> None:  # noqa: ANN401 - a coroutine of any kind
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
