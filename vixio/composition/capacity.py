"""Watches what conversations cost here, so that no more devices are admitted than can converse."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from vixio.composition.core_speed import core_speed
from vixio.core.capacity import Capacity
from vixio.core.cores import own_time
from vixio.core.host import SessionHost
from vixio.core.processor_use import ProcessorUse
from vixio.core.session.events import Event, TurnStarted
from vixio.core.tasks import cancel_and_wait

_log = logging.getLogger(__name__)

INTERVAL_S: Final = 2.0
"""Between two looks, while devices are connected. A storm of connects takes seconds, and what it
lets in is to be known soon behind it."""


class CapacityMeter:
    """That of one process."""

    def __init__(self, capacity: Capacity, host: SessionHost) -> None:
        self._capacity = capacity
        self._host = host
        self._turns = 0
        self._task: asyncio.Task[None] | None = None
        host.events.attach(self)

    def __call__(self, event: Event) -> None:
        """Count an event of a session: a sink of the event bus."""
        if isinstance(event, TurnStarted):
            self._turns += 1

    def begin(self, loading: asyncio.Task[None]) -> None:
        """Measure the machine's speed behind ``loading``, then what is used."""
        self._task = asyncio.create_task(self._run(loading), name="capacity")

    async def close(self) -> None:
        """Measure no more. Idempotent."""
        await cancel_and_wait(self._task)

    async def _run(self, loading: asyncio.Task[None]) -> None:
        await asyncio.wait([loading])
        speed = await asyncio.to_thread(core_speed)
        self._capacity.model.calibrate(speed.slowness * speed.shared, own_time())
        self._capacity.measured = True
        _log.info(
            "capacity estimated",
            extra={
                "devices": self._capacity.devices,
                "core_slowness": round(speed.slowness, 2),
                "core_shared": round(speed.shared, 2),
            },
        )
        use = ProcessorUse()
        while True:
            await asyncio.sleep(INTERVAL_S)
            if not len(self._host.sessions):
                use, self._turns = ProcessorUse(), 0
                continue
            seconds, used = use.since()
            hearing = sum(session.hears for session in self._host.sessions)
            turns, self._turns = self._turns, 0
            self._capacity.model.learn(seconds, hearing * seconds, turns, used)
