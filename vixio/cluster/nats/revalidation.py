"""Revalidates a node's leases after a stall and after a new connection to the bus.

Where two nodes serve one device, as after a time without a bus, the younger connection goes on:
the device has left the older one. Ages are compared, not clocks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from vixio.bus.errors import BrokerError
from vixio.cluster.nats.bucket import WrongRevision
from vixio.cluster.nats.claims import Claim, Claims, Earlier
from vixio.cluster.nats.lease import NatsLease
from vixio.cluster.nats.leases import NatsLeases
from vixio.cluster.nats.peer_rpc import HandoverReply
from vixio.core.errors import describe

TRUST_S: Final = 5.0
"""A lease that cannot be looked up in so many seconds is trusted: the bus is away, and a device
that had moved would have left its connection."""

AT_ONCE: Final = 64
"""Leases that are looked up at a time."""

AGAIN_S: Final = 1.0

_OLDEST: Final = 1e12
"""In place of an age, in seconds, to ask only whether there is a session: each one goes on."""

_log = logging.getLogger(__name__)


Ask = Callable[[str, str, int, float], Awaitable[HandoverReply]]
"""Asks a node to give way for a device: its name, the device, the token of its claim, and an age.

Returns whether the connection there goes on, since it is younger than that age; if it does not, it
is over. Raises BrokerError, TimeoutError.
"""


class LeaseRevalidator:
    """Revalidates leases after a stall or a reconnect. ``connected``: whether there is a bus."""

    def __init__(
        self,
        node: str,
        leases: NatsLeases,
        claims: Claims,
        ask: Ask,
        connected: Callable[[], bool],
    ) -> None:
        self._node = node
        self._leases = leases
        self._claims = claims
        self._ask = ask
        self._connected = connected
        self._stalls = 0
        self._wanted: dict[NatsLease, None] = {}
        self._wake = asyncio.Event()

    def raise_all(self, gap: float) -> None:
        """Suspend all leases until each is looked up; the loop stalled for ``gap`` seconds."""
        doubted = list(self._leases)
        if not doubted:
            return
        _log.warning(
            "event loop stalled, revalidating leases",
            extra={"seconds": round(gap, 1), "devices": len(doubted)},
        )
        self._stalls += 1
        for lease in doubted:
            lease.doubted = True
        asyncio.get_running_loop().call_later(TRUST_S, self._trust, doubted, self._stalls)
        self.look_at_all()

    def look(self, lease: NatsLease) -> None:
        """Look a lease up, soon."""
        self._wanted[lease] = None
        self._wake.set()

    def look_at_all(self) -> None:
        """Look all leases up, soon."""
        self._wanted.update(dict.fromkeys(self._leases))
        self._wake.set()

    async def run(self) -> None:
        """Revalidate what was asked for, until it is cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if not self._connected():
                continue  # the next connection wants all of them
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(AT_ONCE, len(self._wanted))):
                        group.create_task(self._look_at_some())
            except* (BrokerError, TimeoutError) as errors:
                reason = describe(errors.exceptions[0])
                _log.warning("devices not looked up", extra={"reason": reason})
                await asyncio.sleep(AGAIN_S)
                self.look_at_all()

    async def _look_at_some(self) -> None:
        while self._wanted:
            lease = next(iter(self._wanted))
            del self._wanted[lease]
            if lease.granted or lease.unclaimed or lease.claim is not None:
                await self._look_at(lease)

    async def _look_at(self, lease: NatsLease) -> None:
        before = self._stalls
        while not lease.over and not await self._is_settled(lease):
            pass
        if lease.over and lease.gave_way and not lease.outlived:
            await self._remove(lease)
        self._trust([lease], before)

    async def _remove(self, lease: NatsLease) -> None:
        """Remove the claim that gave way to a lease, which is over as well meanwhile."""
        last = await self._claims.last(lease.device_id)
        if last is None or last.token not in lease.gave_way:
            return
        if not await self._goes_on(last, lease, _OLDEST):
            await self._claims.give_back(lease.device_id, last)

    async def _is_settled(self, lease: NatsLease) -> bool:
        """Claim a lease anew if it needs that, or end it; False: there was a claim meanwhile."""
        last = await self._claims.last(lease.device_id)
        if last is not None and (last.node, last.token) == (self._node, lease.token):
            return True
        if last is not None:
            if self._is_asked_by(lease, last):
                # That decides it. Two that ask each other would both give way: the times that the
                # questions take are not known.
                if await self._goes_on(last, lease, _OLDEST):
                    return True
            elif not await self._is_ours(lease, last):
                _ = self._leases.lose(lease, moved=last.node != self._node)
                return True
        try:
            claim = await self._claims.follow(lease.device_id, self._node, last)
        except WrongRevision:
            return False
        if lease.over:  # meanwhile
            await self._claims.give_back(lease.device_id, claim)
        else:
            self._leases.claimed(lease, claim)
        return True

    def _is_asked_by(self, lease: NatsLease, last: Claim) -> bool:
        """Whether the last claim, made a moment ago, is going to ask this node for the lease."""
        if not lease.gave_way or last.token in lease.gave_way or lease.doubted:
            return False
        return last.node != self._node and Earlier(self._node, lease.token) in last.earlier

    async def _is_ours(self, lease: NatsLease, last: Claim) -> bool:
        """Whether a lease goes on, of which the last claim is not."""
        if not last.node:
            return True
        if last.node == self._node:
            other = self._leases.of_claim(lease.device_id, last.token)
            return other is None or other is lease
        return not await self._goes_on(last, lease, lease.age)

    async def _goes_on(self, last: Claim, lease: NatsLease, age: float) -> bool:
        answer = await self._ask(last.node, lease.device_id, last.token, age)
        return answer.goes_on

    def _trust(self, doubted: list[NatsLease], stalls: int) -> None:
        """Trust leases again, unless the process has stalled again since ``stalls``."""
        if stalls != self._stalls:
            return
        for lease in doubted:
            lease.doubted = False
            lease.change()
