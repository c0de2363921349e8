"""A worker process's leases, granted by the coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from vixio.cluster.sharing_lease import SharingLease
from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.lease_table import LEASE_S, RENEW_S
from vixio.cluster.workers.messages import Kind
from vixio.core.cluster import (
    RELEASE_S,
    ClusterUnavailable,
    Lease,
    LeaseLost,
    Leases,
    LossReason,
    OnLost,
)

ACQUIRE_S: Final = 2.5 * RELEASE_S
"""The coordinator answers within RELEASE_S; the rest is for a busy machine."""


@dataclass(eq=False, slots=True)
class _Request:
    """An acquisition that the coordinator has not answered."""

    on_lost: OnLost
    granted: asyncio.Future[WorkerLease] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class WorkerLeases(Leases):
    """The leases of this process, until their sessions are over."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._requests: dict[int, _Request] = {}
        self._leases: dict[tuple[str, int], WorkerLease] = {}
        self._current: dict[str, WorkerLease] = {}
        self._renewed = monotonic()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def fresh(self) -> bool:
        """Whether this process has renewed its leases in time."""
        return monotonic() - self._renewed < LEASE_S

    def current(self, device_id: str) -> Lease | None:
        """Return the valid lease of a device."""
        lease = self._current.get(device_id)
        return lease if lease is not None and lease.valid else None

    async def acquire(self, device_id: str, on_lost: OnLost) -> Lease:
        """Take the device over, from another process or from an older connection of this one."""
        number = self._channel.next_number()
        request = self._requests[number] = _Request(on_lost)
        self._channel.send(Kind.ACQUIRE, number, device=device_id)
        try:
            if self._channel.closed:
                raise ClusterUnavailable("the coordinator is gone")
            async with asyncio.timeout(ACQUIRE_S):
                return await request.granted
        except TimeoutError:
            raise ClusterUnavailable(f"no lease within {ACQUIRE_S:g} s") from None
        except asyncio.CancelledError:
            if request.granted.done() and not request.granted.cancelled():
                await request.granted.result().release()
            raise
        finally:
            del self._requests[number]

    async def renew(self) -> None:
        """Keep the leases; a process that was unresponsive for too long gives them up."""
        while True:
            if not self.fresh:
                for lease in list(self._leases.values()):
                    self._end(lease, 0, LossReason.EXPIRED)
            self._renewed = monotonic()
            self._channel.send(Kind.RENEW)
            await asyncio.sleep(RENEW_S)

    def granted(self, number: int, device_id: str, token: int, handover: str) -> None:
        """Take the coordinator's answer; token 0: a newer connection came first."""
        request = self._requests.get(number)
        if request is None or request.granted.done():
            self._channel.send(Kind.RELEASE, device=device_id, token=token)
        elif not token:
            request.granted.set_exception(LeaseLost(f"{device_id} has connected again"))
        else:
            lease = WorkerLease(self, device_id, token, request.on_lost, handover)
            self._leases[device_id, token] = self._current[device_id] = lease
            request.granted.set_result(lease)

    def lose(self, number: int, device_id: str, token: int, reason: LossReason) -> None:
        """End a lease for the coordinator, which waits for the end if there is a ``number``."""
        lease = self._leases.get((device_id, token))
        if lease is not None:
            self._end(lease, number, reason)
        elif number:
            self._channel.answer(number, None)  # it has just been given back

    def released(self, lease: WorkerLease) -> None:
        """Give a lease back that was not lost."""
        self._forget(lease)
        self._give_back(lease)

    def share(self, lease: WorkerLease, text: str) -> None:
        """Send a device's conversation."""
        self._channel.send(Kind.HANDOVER, device=lease.device_id, token=lease.token, text=text)

    def close(self) -> None:
        """The coordinator is gone: nothing can be acquired any more."""
        for request in self._requests.values():
            if not request.granted.done():
                request.granted.set_exception(ClusterUnavailable("the coordinator is gone"))
        for lease in self._leases.values():
            lease.take_handover()
        for task in self._tasks:
            task.cancel()

    def _end(self, lease: WorkerLease, number: int, reason: LossReason) -> None:
        if self._current.get(lease.device_id) is lease:
            del self._current[lease.device_id]
        self._spawn(self._over(lease, number, lease.lose(reason)))

    async def _over(self, lease: WorkerLease, number: int, ending: asyncio.Task[None]) -> None:
        """Hand the conversation over once the session is over."""
        await ending
        self._forget(lease)
        if number:
            self._channel.answer(number, lease.take_handover())
        else:
            # A coordinator that was suspended too has not expired the lease.
            self._give_back(lease)

    def _give_back(self, lease: WorkerLease) -> None:
        """Send what is to be shared, then the release; both are ignored for an older lease."""
        lease.flush()
        self._channel.send(Kind.RELEASE, device=lease.device_id, token=lease.token)

    def _forget(self, lease: WorkerLease) -> None:
        self._leases.pop((lease.device_id, lease.token), None)
        if self._current.get(lease.device_id) is lease:
            del self._current[lease.device_id]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class WorkerLease(SharingLease):
    """A lease of this process."""

    def __init__(
        self, leases: WorkerLeases, device_id: str, token: int, on_lost: OnLost, handover: str
    ) -> None:
        super().__init__(device_id, token, on_lost, handover)
        self._leases = leases

    @property
    def valid(self) -> bool:
        """Whether this process may act for the device."""
        return super().valid and self._leases.fresh

    async def release(self) -> None:
        """Give the lease back, with what is still to be shared. Idempotent."""
        if not (self._released or self.lost):
            await super().release()
            self._leases.released(self)

    def flush(self) -> None:
        """Send what is to be shared now."""
        if (text := self.take_handover()) is not None:
            self._leases.share(self, text)
