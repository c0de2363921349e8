"""Conversations for the next holder of a device, where the nodes share no store of them."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Final, NamedTuple

from vixio.bus.errors import BrokerError
from vixio.cluster.nats.bucket import Bucket, WrongRevision
from vixio.cluster.nats.claims import FENCED
from vixio.cluster.nats.lease import NatsLease
from vixio.core.errors import describe
from vixio.core.metrics import Counters
from vixio.core.well_formed import well_formed

MAX_AGE_S: Final = 86_400
MAX_BYTES: Final = 256 * 1024 * 1024
"""Of the bucket: over it the oldest conversations go."""

GIVE_BACK_S: Final = 2.0
"""Longest wait for the bus when a session is over."""

_TRIES: Final = 8

_log = logging.getLogger(__name__)


class Version(NamedTuple):
    """Orders what holders write: a later lease before an earlier one, then what it wrote last."""

    token: int
    number: int


class Conversations:
    """The bucket of conversations, each a text of ``vixio.core.handover``.

    Counter: ``cluster.claims.fenced``.
    """

    def __init__(self, bucket: Bucket, node: str, counters: Counters) -> None:
        self._bucket = bucket
        self._counters = counters
        self._node = node
        self._saved = 0
        self._revisions: dict[str, int] = {}
        """By device of this node: where the next text follows, as far as is known."""

    async def find(self, device_id: str, *, after: int) -> str | None:
        """Return what was left under a lease of a token above ``after``; None: nothing was.

        Empty: this node has left it, and still has it itself.
        """
        try:
            entry = await self._bucket.get(device_id)
        except BrokerError as error:
            _log.warning("conversation not found", extra={"reason": str(error)})
            return None
        if entry is None:
            return None
        self._revisions[device_id] = entry.revision
        if _version(entry.value).token <= after:
            return None
        head, _, text = entry.value.partition(b"\n")
        return "" if _node(head) == self._node else text.decode("utf-8", "replace")

    async def save(self, lease: NatsLease) -> None:
        """Leave what a lease has not saved yet; without a bus the lease keeps it. Bounded."""

        async def put(text: str) -> bool:
            if not self._bucket.connected:
                return False
            self._saved += 1
            version = Version(lease.token, self._saved)
            done = await self._put(lease.device_id, version, text, here=lease.dumped)
            return done or lease.over  # one that goes on has a later claim soon

        try:
            async with asyncio.timeout(GIVE_BACK_S):
                await lease.save(put)
        except (BrokerError, TimeoutError) as error:
            _log.warning("conversation not shared", extra={"reason": describe(error)})

    async def _put(self, device_id: str, version: Version, text: str, *, here: bool) -> bool:
        """Leave a text; False: there is one of a later version. Raises BrokerError.

        ``here``: whether this node has it itself, so that it need not be handed to it later.
        """
        head = json.dumps({"node": self._node if here else "", "version": version}).encode()
        value = head + b"\n" + well_formed(text).encode()
        revision = self._revisions.get(device_id, 0)
        for _ in range(_TRIES):
            try:
                revision = await self._bucket.put(device_id, value, revision)
                if device_id in self._revisions:
                    self._revisions[device_id] = revision
                return True
            except WrongRevision:
                entry = await self._bucket.get(device_id)
            if entry is not None and _version(entry.value) > version:
                self._counters.add(FENCED)
                return False
            revision = entry.revision if entry is not None else 0
        raise BrokerError("too many write a device's conversation")

    def follow(self, device_id: str) -> None:
        """The device is with this node: remember where the next text follows."""
        self._revisions.setdefault(device_id, 0)

    def forget(self, device_id: str) -> None:
        """The device is no longer with this node."""
        self._revisions.pop(device_id, None)


def _node(head: bytes) -> str:
    try:
        return str(json.loads(head)["node"])
    except (ValueError, KeyError, TypeError):
        return ""


def _version(value: bytes) -> Version:
    try:
        token, number = json.loads(value.partition(b"\n")[0])["version"]
        return Version(int(token), int(number))
    except (ValueError, KeyError, TypeError):
        return Version(0, 0)
