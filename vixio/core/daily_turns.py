"""How many turns each device has had today, where that is limited.

Counted in the memory of the process, for all connections of a device and all worker processes of a
server. A store keeps the counts beyond the end of the process; nothing waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Final, Protocol

from vixio.core.cluster import SharedLimits
from vixio.core.wall_clock import date_time

CHARGE: Final = "daily_turns"
"""The name under which processes tell each other of turns."""

MAX_DEVICES: Final = 100_000
"""Whose turns are counted in memory; the one that has come first is forgotten."""


class TurnStore(Protocol):
    """Keeps counts by device and day (``2026-01-31``). Its methods return at once."""

    def add(self, device_id: str, day: str) -> None:
        """Note a turn."""
        ...

    def load(self, device_id: str, day: str, loaded: Callable[[int], None]) -> None:
        """Look up how many turns there were; ``loaded`` is called with it, or not at all."""
        ...

    async def close(self) -> None:
        """Write what is not written, for a bounded time. Idempotent."""
        ...


class DailyTurns:
    """The turns of today. ``limits`` None: of this process alone; ``store`` None: since its start.

    ``zone`` returns the time zone in which days begin; None: that of the machine.
    """

    def __init__(
        self,
        limits: SharedLimits | None = None,
        store: TurnStore | None = None,
        zone: Callable[[], tzinfo | None] = lambda: None,
        clock: Callable[[tzinfo | None], datetime] = date_time,
    ) -> None:
        self._limits = limits
        self._store = store
        self._zone = zone
        self._clock = clock
        self._day = ""
        self._turns: dict[str, int] = {}
        if limits is not None:
            limits.on_charge(CHARGE, self._others)

    def expect(self, device_id: str) -> None:
        """A device with a limit has connected: look up what it has had today."""
        if self._store is None:
            return
        day = self._today()

        def loaded(turns: int) -> None:
            if day == self._today():
                self._put(device_id, max(turns, self._turns.get(device_id, 0)))

        self._store.load(device_id, day, loaded)

    def take(self, device_id: str, limit: int) -> bool:
        """Count a turn; return whether it is within ``limit`` turns a day. 0: any number is."""
        if not limit:
            return True
        day = self._today()
        turns = self._turns.get(device_id, 0)
        if turns >= limit:
            return False
        self._put(device_id, turns + 1)
        if self._limits is not None:
            self._limits.charge(CHARGE, device_id)
        if self._store is not None:
            self._store.add(device_id, day)
        return True

    def taken(self, device_id: str) -> int:
        """Return how many turns of today are known; of devices with a limit only."""
        self._today()
        return self._turns.get(device_id, 0)

    async def close(self) -> None:
        """Write what is not written. Idempotent."""
        if self._store is not None:
            await self._store.close()

    def _others(self, device_id: str, turns: int) -> None:
        """Another process has counted turns."""
        self._today()
        self._put(device_id, self._turns.get(device_id, 0) + turns)

    def _put(self, device_id: str, turns: int) -> None:
        self._turns[device_id] = turns
        if len(self._turns) > MAX_DEVICES:
            del self._turns[next(iter(self._turns))]

    def _today(self) -> str:
        """Return the day; with a new one all counts begin anew."""
        day = self._clock(self._zone()).date().isoformat()
        if day != self._day:
            self._day = day
            self._turns.clear()
        return day
