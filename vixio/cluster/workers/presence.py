"""Which devices the other worker processes serve, as the coordinator reports it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final

from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.leases import WorkerLeases
from vixio.cluster.workers.messages import Kind
from vixio.core.cluster import HEALTH, Presence, Status

STATUS_S: Final = 2.0
"""Longest wait for the status of all processes; the coordinator waits one second for each."""


class WorkerPresence(Presence):
    """``worker``: the number of this process."""

    def __init__(self, worker: int, channel: Channel, leases: WorkerLeases) -> None:
        self._worker = worker
        self._channel = channel
        self._leases = leases
        self._elsewhere: dict[str, int] = {}
        self._status: dict[str, Callable[[], Status]] = {}

    def where(self, device_id: str) -> str:
        """Return the number of the process that serves a device."""
        if self._leases.current(device_id) is not None:
            return str(self._worker)
        return str(self._elsewhere.get(device_id, ""))

    def elsewhere(self, device_id: str) -> bool:
        """Whether another process serves the device."""
        return device_id in self._elsewhere

    async def look_elsewhere(self, device_id: str) -> bool:
        """Ask the coordinator."""
        if self._leases.current(device_id) is not None:
            return False
        answer = await self._channel.request(Kind.PRESENCE, STATUS_S, device=device_id)
        return isinstance(answer, int) and answer not in (0, self._worker)

    def publish(self, status: Callable[[], Status], *, topic: str = HEALTH) -> None:
        """Set what this process reports about itself."""
        self._status[topic] = status

    async def members(self, topic: str = HEALTH) -> Sequence[Status]:
        """Return the status of all processes; of this one alone if the coordinator is silent."""
        answer = await self._channel.request(Kind.STATUS, STATUS_S, topic=topic)
        return answer if isinstance(answer, list) and answer else [self.status(topic)]

    # ── the channel's side ───────────────────────────────────────────────────────────────────

    def status(self, topic: str) -> Status:
        """Return the status of this process."""
        report = self._status.get(topic, dict)
        return {**report(), "worker": self._worker, "pid": os.getpid()}

    def connected(self, device_id: str, worker: int) -> None:
        """Note which other process serves a device; 0: none does."""
        if worker:
            self._elsewhere[device_id] = worker
        else:
            self._elsewhere.pop(device_id, None)
