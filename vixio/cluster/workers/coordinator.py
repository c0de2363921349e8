"""The supervisor's side of what worker processes have to know of each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from loguru import logger

from vixio.cluster.workers.channel import Channel, Message
from vixio.cluster.workers.counters import Row, SharedCounters
from vixio.cluster.workers.handovers import HandoverStore
from vixio.core.cluster import DEVICES

RELEASE_S: Final = 2.0
"""A process has so long to end the session of a device that has come to another one. The device is
what waits, so what the old session had still to write may come too late for it."""

HEALTH_S: Final = 1.0
"""A process that does not answer for its health in so many seconds is reported without it."""

Ready = Callable[[int, dict[str, Any]], None]
"""Told a process's number, and what it says of itself, when it accepts devices."""


class Coordinator:
    """Knows which process has which device, how many of what all have, and what devices remember.

    Processes are called by numbers. ``on_ready`` is told of each that accepts devices.
    """

    def __init__(self, on_ready: Ready = lambda number, about: None) -> None:
        self._on_ready = on_ready
        self._channels: dict[int, Channel] = {}
        self._owners: dict[str, int] = {}
        self._counters = SharedCounters()
        self._handovers = HandoverStore()
        self._tasks: set[asyncio.Task[None]] = set()

    async def attend(self, number: int, channel: Channel) -> None:
        """Serve one process until it is gone; then all that it had is nobody's."""
        self._channels[number] = channel
        try:
            for (table, key), count in list(self._counters.seen_by(number)):
                channel.send("count", table, key, count)
            while (message := await channel.receive()) is not None:
                self._handle(number, channel, message)
        except ValueError as error:
            logger.bind(worker=number, error=type(error).__name__).error("a worker talks nonsense")
        finally:
            del self._channels[number]
            for row in self._counters.rows_of(number):
                self._tell(number, row, 0)
            for device in [each for each, owner in self._owners.items() if owner == number]:
                del self._owners[device]

    async def health(self) -> list[dict[str, Any]]:
        """Return what each process says of its health; those that do not answer are left out."""
        channels = list(self._channels.values())
        answers = await asyncio.gather(
            *(channel.ask("health", seconds=HEALTH_S) for channel in channels)
        )
        return [answer for answer in answers if isinstance(answer, dict)]

    async def close(self) -> None:
        """End what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _handle(self, number: int, channel: Channel, message: Message) -> None:
        match message:
            case ["tell", str(table), str(key), int(count)]:
                self._tell(number, (table, key), count)
            case ["act", str(kind), str(key), int(done)]:
                for other, to in self._channels.items():
                    if other != number:
                        to.send("act", kind, key, done)
            case ["claim", int(request), str(device)]:
                self._spawn(self._claim(number, channel, request, device))
            case ["leave", str(device)]:
                self._tell(number, (DEVICES, device), 0)
                if self._owners.get(device) == number:
                    del self._owners[device]
            case ["remember", str(device), str(text)]:
                self._handovers.put(device, text)
            case ["health", int(request)]:
                self._spawn(self._answer_health(channel, request))
            case ["answer", int(request), body]:
                channel.answered(request, body)
            case ["ready", dict(about)]:
                self._on_ready(number, about)
            case _:
                raise ValueError("no message of a worker")

    def _tell(self, number: int, row: Row, count: int) -> None:
        if self._counters.put(number, row, count):
            for other, channel in self._channels.items():
                if other != number:
                    channel.send("count", *row, self._counters.others(other, row))

    async def _claim(self, number: int, channel: Channel, request: int, device: str) -> None:
        before = self._owners.get(device)
        self._owners[device] = number
        self._tell(number, (DEVICES, device), 1)
        if before is not None and before != number and (previous := self._channels.get(before)):
            await previous.ask("release", device, seconds=RELEASE_S)
        # A process that had it itself knows as much.
        memory = "" if before == number else self._handovers.get(device)
        channel.send("answer", request, memory)

    async def _answer_health(self, channel: Channel, request: int) -> None:
        channel.send("answer", request, await self.health())

    def _spawn(self, work: Any) -> None:  # noqa: ANN401 - a coroutine of any kind
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
