"""A lease of a node, from its claim to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from vixio.cluster.nats.claims import Claim
from vixio.cluster.sharing_lease import SharingLease
from vixio.core.clock import awake
from vixio.core.cluster import OnLost
from vixio.core.waiters import Waiters

if TYPE_CHECKING:
    from vixio.cluster.nats.leases import NatsLeases


class NatsLease(SharingLease):
    """``claim``: None until there is one, and while there is no bus to claim the device on."""

    def __init__(self, leases: NatsLeases, device_id: str, on_lost: OnLost) -> None:
        super().__init__(device_id, 0, on_lost)
        self._leases = leases
        self.claim: Claim | None = None
        self.unclaimed = False
        """Whether the device is served all the same: there was no bus."""
        self.succeeded = True
        """Whether the sessions before it are known to be over."""
        self.granted = False
        """Whether its session has begun."""
        self.overtaken = False
        """Whether a newer connection has come before it was granted."""
        self.outlived = False
        """Whether it gave way to a session before it. Its claim stays until that session has
        claimed again: it is all that tells the next holder of that session."""
        self.gave_way: set[int] = set()
        """The tokens of later claims that gave way to it, until it has claimed again."""
        self.doubted = False
        """Whether it may have passed on while this process stood still."""
        self.dumped = False
        """Whether its session has changed the conversation that it was handed."""
        self._saving = asyncio.Lock()
        self._on_its_way: str | None = None
        self._since = awake()
        self._changed = Waiters()

    @property
    def age(self) -> float:
        """Seconds since the device connected."""
        return awake() - self._since

    @property
    def over(self) -> bool:
        """Whether it ended, in whichever way."""
        return self._released or self.lost or self.overtaken

    @property
    def valid(self) -> bool:
        """Whether this process may act for the device."""
        return super().valid and not self.doubted and self._leases.fresh

    async def confirmed(self) -> bool:
        """Return whether the process may act, waiting while that is looked up."""
        while not self.over:
            if self.valid:
                return True
            await self._changed.wait()
        return False

    async def settled(self) -> None:
        """Wait until it is granted or over."""
        while not (self.granted or self.over):
            await self._changed.wait()

    def change(self) -> None:
        """Let those look again that wait for it."""
        self._changed.wake()

    async def release(self) -> None:
        """Give the lease back, with what is still to be shared. Idempotent."""
        if not (self._released or self.lost):
            await super().release()
            self.change()
            await self._leases.released(self)

    def share_handover(self, dump: Callable[[], str]) -> None:
        """Publish the conversation for the next holder, a moment later."""
        self.dumped = True
        super().share_handover(dump)

    def unsaved(self) -> str:
        """Return the conversation of a session that is over; empty: it is saved, or there is none.

        What is on its way to the bucket is not saved yet: the next holder may read before.
        """
        if (text := self.take_handover()) is None:
            return self._on_its_way or ""
        self.keep_handover(text)
        return text

    async def save(self, put: Callable[[str], Awaitable[bool]]) -> None:
        """Put what is not saved yet, after what is on its way; keep it if that fails.

        ``put``: returns whether it was put. One at a time, so that an older text is never kept
        in place of one that was put after it.
        """
        async with self._saving:
            if (text := self.take_handover()) is None:
                return
            self._on_its_way, done = text, False
            try:
                done = await put(text)
            finally:
                self._on_its_way = None
                if not done:
                    self.keep_handover(text)

    def flush(self) -> None:
        """Send what is to be shared now."""
        self._leases.share(self)
