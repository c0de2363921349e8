"""The messages between the coordinator and the worker processes.

A message is a frame of ``vixio.core.framing``: kind, number, JSON object. The number joins a
request with its answer; it is 0 where no answer is expected.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple

from vixio.core.handover import MAX_BYTES

MAX_PAYLOAD: Final = 8 * MAX_BYTES
"""Bytes; the longest is a conversation, escaped."""

Body = dict[str, Any]


class Kind(IntEnum):
    """What a message says, its fields, and who sends it."""

    PLAN = 1
    """Coordinator, first: the worker's ``Plan``."""
    READY = 2
    """Worker: it accepts devices. The fields of ``ServerInfo``."""
    GAUGE = 3
    """``name, key, count``. Worker: how many it has; coordinator: how many the others have."""
    CHARGE = 4
    """``name, key, amount``. Either: charged to a rate limit in another process."""
    PRESENCE = 5
    """Coordinator: ``device, worker``; another worker serves the device, 0: none does. Worker,
    request: ``device``; the answer is the worker that serves it."""
    RENEW = 6
    """Worker: it is responsive; renews all its leases."""
    ACQUIRE = 7
    """Worker, request: ``device``. The answer is LEASE."""
    LEASE = 8
    """Coordinator, answer: ``device, token, handover``; token 0: a newer one came first."""
    LOSE = 9
    """Coordinator: ``device, token, reason``. As a request: answer with ``handover`` once the
    session is over; None: nothing new."""
    RELEASE = 10
    """Worker: ``device, token``; the session is over."""
    HANDOVER = 11
    """Worker: ``device, token, text``; the conversation, for the next holder."""
    STATUS = 12
    """Request: ``topic``. Worker: the status of all processes; coordinator: that of this one."""
    COMMAND = 14
    """Request: ``device, command, timeout``; coordinator: also ``token``, that of the lease under
    which the device is served. The answer is a ``CommandResult``."""
    ANSWER = 13
    """Either: ``result`` of a request."""
    BROADCAST = 15
    """``topic, body``. Either: what a process tells all others, and can be lost."""


class Message(NamedTuple):
    """One message as it was received."""

    kind: Kind
    number: int
    body: Body
