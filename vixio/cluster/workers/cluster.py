"""A worker process's side: its cluster, as the coordinator tells of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from vixio.cluster.workers.channel import Channel, Message
from vixio.core.cluster import Acted, Cluster, Release

CLAIM_S: Final = 3.0
"""Longest wait for the handover; the coordinator gives the older session two of them."""

REMEMBER_S: Final = 0.05
"""What a device remembers changes several times at a turn's end: it is sent once."""

HEALTH_S: Final = 2.0

Health = dict[str, Any]


class WorkerCluster(Cluster):
    """This process's end of the coordinator. :meth:`run` reads its messages."""

    several = True

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._others: dict[tuple[str, str], int] = {}
        self._own: dict[tuple[str, str], int] = {}
        self._acted: dict[str, Acted] = {}
        self._release: Release | None = None
        self._dumps: dict[str, tuple[asyncio.TimerHandle, Callable[[], str]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.own_health: Callable[[], Health] = dict
        """Asked when somebody looks at any process's health page."""

    async def run(self) -> None:
        """Take what the coordinator tells until it is gone."""
        try:
            while (message := await self._channel.receive()) is not None:
                self._handle(message)
        finally:
            for timer, _ in self._dumps.values():
                timer.cancel()
            for task in self._tasks:
                task.cancel()

    def ready(self, about: Health) -> None:
        """Tell the supervisor that devices are accepted."""
        self._channel.send("ready", about)

    async def health(self) -> list[Health]:
        """Return the health of all processes; at least this one's."""
        answers = await self._channel.ask("health", seconds=HEALTH_S)
        return answers if isinstance(answers, list) and answers else [self.own_health()]

    def tell(self, table: str, key: str, count: int) -> None:
        if self._own.get((table, key), 0) == count:
            return
        if count:
            self._own[table, key] = count
        else:
            del self._own[table, key]
        self._channel.send("tell", table, key, count)

    def count(self, table: str, key: str = "") -> int:
        return self._others.get((table, key), 0)

    def act(self, kind: str, key: str, number: int = 1) -> None:
        self._channel.send("act", kind, key, number)

    def on_act(self, kind: str, acted: Acted) -> None:
        self._acted[kind] = acted

    def on_release(self, release: Release) -> None:
        self._release = release

    async def claim(self, device_id: str) -> str:
        memory = await self._channel.ask("claim", device_id, seconds=CLAIM_S)
        return memory if isinstance(memory, str) else ""

    def leave(self, device_id: str) -> None:
        self._flush(device_id)
        self._channel.send("leave", device_id)

    def remember(self, device_id: str, dump: Callable[[], str]) -> None:
        if known := self._dumps.pop(device_id, None):
            known[0].cancel()
        loop = asyncio.get_running_loop()
        self._dumps[device_id] = (loop.call_later(REMEMBER_S, self._flush, device_id), dump)

    def _flush(self, device_id: str) -> None:
        if known := self._dumps.pop(device_id, None):
            timer, dump = known
            timer.cancel()
            self._channel.send("remember", device_id, dump())

    def _handle(self, message: Message) -> None:
        match message:
            case ["count", str(table), str(key), int(count)]:
                if count:
                    self._others[table, key] = count
                else:
                    self._others.pop((table, key), None)
            case ["act", str(kind), str(key), int(number)]:
                if acted := self._acted.get(kind):
                    acted(key, number)
            case ["release", int(request), str(device)]:
                self._spawn(self._let_go(request, device))
            case ["health", int(request)]:
                self._channel.send("answer", request, self.own_health())
            case ["answer", int(request), body]:
                self._channel.answered(request, body)
            case _:
                raise ValueError("no message of the coordinator")

    async def _let_go(self, request: int, device: str) -> None:
        if self._release is not None:
            await self._release(device)
        self._flush(device)
        self._channel.send("answer", request, True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
