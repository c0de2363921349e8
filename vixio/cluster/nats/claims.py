"""Claims on devices: an order over all nodes, in which each claim knows those before it.

A claim names the claims whose sessions it has not seen ended yet. So the next one can end them too,
should the node of this one die in between.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vixio.bus.errors import BrokerError
from vixio.cluster.nats.bucket import Bucket, Entry, WrongRevision
from vixio.core.metrics import Counters

_TRIES: Final = 64
"""Of one claim that others overtake; each means that another claim went through."""

_MAX_EARLIER: Final = 8
"""That a claim names: so many nodes in a row would have to die while they take a device over."""


FENCED: Final = "cluster.claims.fenced"
"""Counts what a node wrote for a device when another one had a later claim."""

ANY: Final = 2**127 - 1
"""In place of a token: whatever claim a node has. More than any token, which has some 80 bits."""


class Earlier(NamedTuple):
    """A claim that may still have a session."""

    node: str
    token: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A node's claim on a device. ``token``: the fencing token, greater than that of any before."""

    node: str
    token: int
    revision: int
    earlier: tuple[Earlier, ...] = ()

    @property
    def unsettled(self) -> tuple[Earlier, ...]:
        """The claims that the next one has to end: this one and those that it names."""
        return (Earlier(self.node, self.token), *self.earlier)[:_MAX_EARLIER]


class Claims:
    """The bucket of claims.

    Counter: ``cluster.claims.fenced``, see :data:`FENCED`.
    """

    def __init__(self, bucket: Bucket, counters: Counters) -> None:
        self._bucket = bucket
        self._counters = counters

    async def last(self, device_id: str) -> Claim | None:
        """Return the last claim on a device; None: it was given back. Raises BrokerError."""
        entry = await self._bucket.get(device_id)
        return self._claim(entry) if entry is not None else None

    async def claim(self, device_id: str, node: str) -> Claim:
        """Claim a device; return the claim, which names those before it. Raises BrokerError."""
        before: Claim | None = None  # as for most: it was given back
        for _ in range(_TRIES):
            try:
                return await self.follow(device_id, node, before)
            except WrongRevision:
                before = await self.last(device_id)
        raise BrokerError("too many claims on the device at once")

    async def follow(self, device_id: str, node: str, before: Claim | None) -> Claim:
        """Claim a device after the claim ``before``. Raises WrongRevision, BrokerError."""
        earlier = before.unsettled if before is not None else ()
        revision = await self._bucket.put(
            device_id, _value(node, earlier), before.revision if before else 0
        )
        return Claim(node, self._bucket.number(revision), revision, earlier)

    async def settle(self, device_id: str, claim: Claim) -> Claim:
        """Note that the sessions before a claim are over, unless there is a later one.

        Raises BrokerError.
        """
        if not claim.earlier:
            return claim
        value = _value(claim.node, (), claim.token)
        try:
            revision = await self._bucket.put(device_id, value, claim.revision)
        except WrongRevision:
            self._counters.add(FENCED)
            return claim
        return replace(claim, revision=revision, earlier=())

    async def give_back(self, device_id: str, claim: Claim) -> None:
        """Remove a claim, unless there is a later one. Raises BrokerError."""
        await self._bucket.remove(device_id, claim.revision)

    def _claim(self, entry: Entry) -> Claim:
        token = self._bucket.number(entry.revision)
        try:
            found = json.loads(entry.value)
            earlier = tuple(Earlier(str(node), int(token)) for node, token in found["earlier"])
            return Claim(
                str(found["node"]), int(found.get("token", token)), entry.revision, earlier
            )
        except (ValueError, KeyError, TypeError):
            return Claim("", token, entry.revision)  # of another writer: nobody to ask


def _value(node: str, earlier: Sequence[Earlier], token: int | None = None) -> bytes:
    own = {} if token is None else {"token": token}
    return json.dumps({"node": node, "earlier": earlier, **own}).encode()
