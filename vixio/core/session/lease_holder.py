"""The lease under which a connection's session serves its device."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from vixio.core.cluster import Lease, LeaseLost, Leases, LossReason
from vixio.core.transport import GOING_AWAY, REPLACED, DeviceConnection
from vixio.core.waiters import Waiters

if TYPE_CHECKING:
    from vixio.core.session.session import Session


class LeaseHolder:
    """Holds a device's lease for a session, from its acquisition to its release.

    If the lease is lost, the connection closes, and the next holder waits for :meth:`end`.
    """

    def __init__(self, connection: DeviceConnection) -> None:
        self._lease: Lease | None = None
        self._connection = connection
        self._session: asyncio.Future[Session | None] = asyncio.get_running_loop().create_future()
        self._over = False
        self._ended = Waiters()
        self._closing: asyncio.Task[None] | None = None

    async def acquire(self, leases: Leases) -> None:
        """Get the lease. Raises LeaseLost after closing the connection, ClusterUnavailable."""
        try:
            self._lease = await leases.acquire(self._connection.device.id, self._lost)
        except LeaseLost:
            await self._connection.close(REPLACED, REPLACED_REASON)
            raise

    @property
    def held(self) -> bool:
        """Whether there was a lease."""
        return self._lease is not None

    @property
    def lease(self) -> Lease:
        """The lease. Raises LeaseLost before it is acquired."""
        if self._lease is None:
            raise LeaseLost(f"no lease for {self._connection.device.id}")
        return self._lease

    def begin(self, session: Session) -> None:
        """The session begins: commands can reach it."""
        self._session.set_result(session)

    async def session(self) -> Session | None:
        """Return the session, waiting while it is set up; None: it may not act any more."""
        session = await asyncio.shield(self._session)
        return session if self._lease is not None and self._lease.valid else None

    async def end(self) -> None:
        """The session is over: release the lease, and let the next holder go on."""
        if not self._session.done():
            self._session.set_result(None)
        if self._lease is not None:
            await self._lease.release()
        self._over = True
        self._ended.wake()

    async def _lost(self, reason: LossReason) -> None:
        if reason is LossReason.TAKEN:
            closing = self._connection.close(REPLACED, REPLACED_REASON)
        else:
            closing = self._connection.close(GOING_AWAY, "the server was unresponsive")
        # The socket is often half dead: the next holder does not wait for it to close.
        self._closing = asyncio.create_task(closing)
        while not self._over:
            await self._ended.wait()


REPLACED_REASON = "replaced by a newer connection"
