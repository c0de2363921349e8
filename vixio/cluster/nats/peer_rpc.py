"""What nodes ask of each other about a device: to end its session for a younger connection.

The older connection gives way, whoever claimed the device last: a process that stood still in the
middle of a claim finishes it when the device has long connected elsewhere. Ages are compared, not
clocks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from vixio.bus.errors import BrokerError
from vixio.cluster.nats.lease import NatsLease
from vixio.cluster.nats.leases import NatsLeases
from vixio.cluster.nats.link import Link, NobodyThere
from vixio.cluster.nats.names import node_subject
from vixio.core.clock import awake
from vixio.core.cluster import RELEASE_S

YIELD_S: Final = RELEASE_S + 1.0
"""Longest wait for a node; it waits RELEASE_S for the end of a session."""

_VERB: Final = "yield"


class HandoverReply(NamedTuple):
    """A node's answer. ``goes_on``: its connection is the younger one.

    ``handover``: the conversation, as far as it was not shared yet.
    """

    goes_on: bool = False
    handover: str = ""


class PeerRpc:
    """``gone``: called with a node that the bus knows no more, and why.

    ``where``: returns the node that says that it has a device.
    """

    def __init__(
        self,
        node: str,
        link: Link,
        gone: Callable[[str, str], None],
        where: Callable[[str], str],
    ) -> None:
        self._node = node
        self._link = link
        self._gone = gone
        self._where = where
        self._leases: NatsLeases | None = None
        link.answer(node_subject(node, _VERB), self._answer)

    def serve(self, leases: NatsLeases) -> None:
        """Answer for these leases."""
        self._leases = leases

    @property
    def connected(self) -> bool:
        """Whether there is a bus."""
        return self._link.connected

    def holder(self, device_id: str) -> str:
        """Return the node that says that it has a device; empty: none does."""
        return self._where(device_id)

    async def ask(
        self, node: str, device_id: str, token: int, age: float, claim: int = 0
    ) -> HandoverReply:
        """Have a node end the session of a claim, unless its connection is younger than ``age``.

        ``claim``: the token of the claim that asks, if it gives way otherwise.
        Returns when that is over or its node is gone. Raises BrokerError, TimeoutError.
        """
        body = {
            "device": device_id,
            "token": token,
            "age": age,
            "claim": claim,
            "from": self._node,
        }
        try:
            answer = await self._link.request(node_subject(node, _VERB), body, YIELD_S)
        except NobodyThere:
            self._gone(node, "the bus does not know it")
            return HandoverReply()
        return HandoverReply(bool(answer.get("goes_on")), str(answer.get("handover") or ""))

    async def try_to_ask(
        self, node: str, device_id: str, token: int, age: float, claim: int
    ) -> HandoverReply:
        """Do the same; a node that does not answer has given way.

        Its process stands still: it looks again before it says anything.
        """
        try:
            return await self.ask(node, device_id, token, age, claim)
        except (BrokerError, TimeoutError):
            return HandoverReply()

    async def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        assert self._leases is not None  # noqa: S101 - it serves before it listens
        device_id, age = str(body["device"]), float(body["age"])
        asked = awake()
        found = await self._leases.up_to(device_id, int(body["token"]))
        age += awake() - asked
        younger = [each for each in found if not each.over and each.age < age]
        if younger:
            # That claim has taken the place of ours.
            self._leases.go_on(younger[-1], int(body.get("claim", 0)))
            return {"goes_on": True}
        return {"goes_on": False, "handover": await self._end(found)}

    async def _end(self, leases: Sequence[NatsLease]) -> str:
        assert self._leases is not None  # noqa: S101 - it serves before it listens
        ends = [self._leases.lose(each, moved=True) for each in leases]
        if not ends:
            return ""
        done, _ = await asyncio.wait(ends, timeout=self._leases.release_timeout)
        return next((text for end in reversed(ends) if end in done and (text := end.result())), "")
