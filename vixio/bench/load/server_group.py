"""The server under load: one process, or several on one port, queried as one."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from vixio.bench.load.control import Hub, Json
from vixio.bench.load.processes import Child, start_server
from vixio.bench.load.server import ServerPlan
from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.coordinator import Coordinator

_WORST: Final = ("at", "lag_p99")
"""Figures of which the largest is reported; of all others the sum."""


class ServerGroup:
    """The server's processes. ``said``: the first message of the first, sent when it listens."""

    def __init__(
        self, members: Sequence[Child], hub: Coordinator, tasks: Sequence[asyncio.Task[None]]
    ) -> None:
        self._members = members
        self._hub = hub
        self._tasks = tasks
        self.said: Json = members[0].peer.said
        self.started = members[0].started

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
