"""The server under load, queried as one: one process, several on one port, or several nodes."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.coordinator import Coordinator
from vixio.core.tasks import cancel_and_wait
from vixio_bench.load.bus import Bus
from vixio_bench.load.control import BenchError, Hub, Json
from vixio_bench.load.pages import page
from vixio_bench.load.processes import Child, start_server
from vixio_bench.load.server import ServerPlan

_WORST: Final = ("at", "lag_p99")
"""Figures of which the largest is reported; of all others the sum."""

_KNOWN_S: Final = 30.0
_LOOK_S: Final = 0.05


class ServerGroup:
    """The server's processes. ``said``: the first message of the first, sent when it listens."""

    def __init__(
        self, members: Sequence[Child], hub: Coordinator, tasks: Sequence[asyncio.Task[None]]
    ) -> None:
        self._members = list(members)
        self._hub = hub
        self._tasks = tasks
        self.said: Json = members[0].peer.said
        self.started = members[0].started

    def __len__(self) -> int:
        """Return the number of processes."""
        return len(self._members)

    @property
    def urls(self) -> list[str]:
        """Where devices connect: the one port that all share, or that of each node.

        Over MQTT each process has a port of its own here.
        """
        return list(dict.fromkeys(member.peer.said["url"] for member in self._members))

    @property
    def pids(self) -> list[int]:
        """Their process ids."""
        return [member.peer.pid for member in self._members]

    async def ask(self, do: str, timeout: float = 60.0, **arguments: Any) -> Json:  # noqa: ANN401 - JSON values
        """Have all do something; return their answers put together. Raises BenchError."""
        answers = await asyncio.gather(
            *(member.peer.ask(do, timeout, **arguments) for member in self._members)
        )
        return together(answers)

    async def kill_last(self) -> tuple[int, float]:
        """End the last one at once, as a crash would; return its devices and when (monotonic).

        They are counted before: afterwards some are with another one at once.
        """
        member = self._members.pop()
        devices = int((await member.peer.ask("now"))["connected"])
        at = time.monotonic()
        await member.kill()
        return devices, at

    async def known_nodes(self) -> list[int]:
        """Return how many nodes each one knows, itself included. Raises BenchError."""
        ports = [member.peer.said["http_port"] for member in self._members]
        pages = await asyncio.gather(*(page(port, "/healthz") for port in ports))
        return [int(shown.get("nodes", 1)) for shown in pages]

    async def end(self) -> None:
        """Hang up and wait until all have ended."""
        await asyncio.gather(*(member.end() for member in self._members))
        await self._part()

    async def kill(self) -> None:
        """End all at once."""
        await asyncio.gather(*(member.kill() for member in self._members))
        await self._part()

    async def _part(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._hub.close()


async def start_server_group(hub: Hub, plan: ServerPlan) -> ServerGroup:
    """Start ``plan.processes`` servers; returns when devices can connect. Raises BenchError."""
    workers = Coordinator()
    if plan.processes == 1:
        return ServerGroup([await start_server(hub, plan)], workers, ())
    members: list[Child] = []
    tasks: list[asyncio.Task[None]] = []
    try:
        for index in range(plan.processes):
            line = replace(plan.line, index=index)
            member, task = await _start_linked(hub, workers, replace(plan, line=line))
            members.append(member)
            tasks.append(task)
            # The first finds free ports, the others share them.
            plan = replace(
                plan, port=member.peer.said["port"], http_port=member.peer.said["http_port"]
            )
    except BaseException:
        for member in members:
            await member.kill()
        raise
    return ServerGroup(members, workers, tasks)


async def start_nodes(hub: Hub, plan: ServerPlan, bus: Bus, count: int) -> ServerGroup:
    """Start ``count`` servers with ports of their own that know each other. Raises BenchError."""

    def node(index: int) -> ServerPlan:
        settings = {**plan.settings, "cluster": bus.section(index + 1)}
        return replace(plan, line=replace(plan.line, index=index), settings=settings)

    starting = [asyncio.create_task(start_server(hub, node(index))) for index in range(count)]
    try:
        group = ServerGroup(await asyncio.gather(*starting), Coordinator(), ())
        async with asyncio.timeout(_KNOWN_S):
            while any(known != count for known in await group.known_nodes()):  # noqa: ASYNC110 - other processes
                await asyncio.sleep(_LOOK_S)
    except BaseException as error:
        await cancel_and_wait(*starting)
        for each in starting:
            if not each.cancelled() and each.exception() is None:
                await each.result().kill()
        if isinstance(error, TimeoutError):
            raise BenchError(f"the nodes do not know each other after {_KNOWN_S:g} s") from None
        raise
    return group


async def _start_linked(
    hub: Hub, workers: Coordinator, plan: ServerPlan
) -> tuple[Child, asyncio.Task[None]]:
    """Start one of several servers, with a line to the others; its task ends with it."""
    ours, theirs = socket.socketpair()
    channel = await Channel.open(ours)

    async def attend() -> None:
        await workers.attend(plan.line.index + 1, channel)
        await channel.close()

    task = asyncio.create_task(attend())
    with theirs:
        try:
            member = await start_server(hub, replace(plan, link=theirs.fileno()))
        except BaseException:
            task.cancel()
            raise
    return member, task


def together(answers: Sequence[Json]) -> Json:
    """Put the answers of several processes together: sums, lists one after another.

    Of distributions the largest figure of any process is reported.
    """
    if len(answers) == 1:
        return answers[0]
    merged: Json = {}
    for key in answers[0]:
        values = [answer[key] for answer in answers]
        if key.endswith("_lag_ms"):
            merged[key] = {
                name: sum(value["count"] for value in values)
                if name == "count"
                else max(value[name] for value in values)
                for name in values[0]
            }
        elif isinstance(values[0], list):
            merged[key] = [item for value in values for item in value]
        elif key == "now":
            merged[key] = together(values)
        elif isinstance(values[0], dict):
            total: Counter[str] = Counter()
            for value in values:
                total.update(value)
            merged[key] = dict(total)
        else:
            merged[key] = max(values) if key in _WORST else sum(values)
    return merged
