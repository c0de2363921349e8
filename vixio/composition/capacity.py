"""Watches what conversations cost here, so that no more devices are admitted than can converse."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Final

from vixio.composition.core_speed import CoreSpeed, core_speed
from vixio.core.capacity import Capacity
from vixio.core.cores import own_time
from vixio.core.errors import ConfigError
from vixio.core.host import SessionHost
from vixio.core.processor_use import ProcessorUse
from vixio.core.session.events import Event, SessionOpened, TurnStarted
from vixio.core.tasks import cancel_and_wait

_log = logging.getLogger(__name__)

INTERVAL_S: Final = 2.0
"""Between two looks, while devices are connected. A storm of connects takes seconds, and what it
lets in is to be known soon behind it."""

LOOKS: Final = 4
BETWEEN_S: Final = 0.4
"""At the speed of the machine, in the first seconds: other processes of the server load as well."""


class CapacityMeter:
    """That of one process."""

    def __init__(self, capacity: Capacity, host: SessionHost) -> None:
        self._capacity = capacity
        self._host = host
        self._turns = self._connects = 0
        self._task: asyncio.Task[None] | None = None
        host.events.attach(self)

    def __call__(self, event: Event) -> None:
        """Count an event of a session: a sink of the event bus."""
        match event:
            case TurnStarted():
                self._turns += 1
            case SessionOpened():
                self._connects += 1
            case _:
                pass

    def begin(self, loading: asyncio.Task[None]) -> None:
        """Measure the machine's speed behind ``loading``, then what is used."""
        self._task = asyncio.create_task(self._run(loading), name="capacity")

    async def close(self) -> None:
        """Measure no more. Idempotent."""
        await cancel_and_wait(self._task)

    async def _run(self, loading: asyncio.Task[None]) -> None:
        await asyncio.wait([loading])
        try:
            await self._calibrate()
        except ConfigError as error:  # no codec, which its user reports as well
            _log.warning("capacity unknown", extra={"reason": str(error)})
            return
        use: ProcessorUse | None = None
        while True:
            await asyncio.sleep(INTERVAL_S)
            if not len(self._host.sessions):
                use, self._turns, self._connects = None, 0, 0
                continue
            if use is None:  # an idle process is not looked at
                use = ProcessorUse()
                continue
            seconds, used = use.since()
            hearing = sum(session.hears for session in self._host.sessions)
            turns, connects = self._turns, self._connects
            self._turns = self._connects = 0
            self._capacity.model.learn(seconds, hearing * seconds, turns, connects, used)

    async def _calibrate(self) -> None:
        """Take the best of a few looks: what else begins with the server is over soon."""
        capacity, best = self._capacity, CoreSpeed(math.inf, 1.0)
        for look in range(LOOKS):
            if look:
                await asyncio.sleep(BETWEEN_S)
            speed = await asyncio.to_thread(core_speed)
            best = min(best, speed, key=lambda each: each.slowness * each.shared)
            capacity.model.calibrate(best.slowness * best.shared, own_time())
            capacity.measured = True
        _log.info(
            "capacity estimated",
            extra={
                "devices": capacity.devices,
                "core_slowness": round(best.slowness, 2),
                "core_shared": round(best.shared, 2),
            },
        )
