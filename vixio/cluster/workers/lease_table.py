"""Which worker holds the lease of each device, and until when."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Final, NamedTuple

RENEW_S: Final = 2.0
"""Seconds between two renewals of a worker."""

MISSED_RENEWALS: Final = 7
"""A worker that misses so many in a row loses its leases. They are counted instead of timed: a
coordinator that was suspended itself has missed none."""

LEASE_S: Final = RENEW_S * MISSED_RENEWALS


class Held(NamedTuple):
    """The current lease of a device."""

    worker: int
    token: int


class LeaseTable:
    """One entry per device. Tokens rise over all devices, so they rise for each."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._by_worker: defaultdict[int, set[str]] = defaultdict(set)
        self._tokens = itertools.count(1)
        self._missed: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._held)

    def holder(self, device_id: str) -> Held | None:
        """Return the current lease of a device."""
        return self._held.get(device_id)

    def holds(self, device_id: str, token: int) -> bool:
        """Whether this is the device's current lease."""
        held = self._held.get(device_id)
        return held is not None and held.token == token

    def grant(self, device_id: str, worker: int) -> Held:
        """Give the device's next lease to ``worker``."""
        if (before := self._held.get(device_id)) is not None:
            self._by_worker[before.worker].discard(device_id)
        held = self._held[device_id] = Held(worker, next(self._tokens))
        self._by_worker[worker].add(device_id)
        return held

    def release(self, device_id: str, token: int) -> bool:
        """End a lease; False: it is not the current one."""
        if not self.holds(device_id, token):
            return False
        self._by_worker[self._held.pop(device_id).worker].discard(device_id)
        return True

    def devices(self) -> dict[str, int]:
        """Return the worker of each device."""
        return {device_id: held.worker for device_id, held in self._held.items()}

    def drop(self, worker: int) -> dict[str, int]:
        """End all leases of a worker; return their tokens by device."""
        self._missed.pop(worker, None)
        return {
            device_id: self._held.pop(device_id).token
            for device_id in self._by_worker.pop(worker, ())
        }

    def renew(self, worker: int) -> None:
        """Renew the leases of a worker."""
        self._missed[worker] = 0

    def tick(self) -> list[int]:
        """Count a renewal as missed by all; return the workers that have missed too many."""
        for worker in self._missed:
            self._missed[worker] += 1
        return [worker for worker, missed in self._missed.items() if missed > MISSED_RENEWALS]
