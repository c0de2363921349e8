"""Subjects and buckets on NATS, and how device ids are written in them.

All subjects begin with :data:`ROOT`: what is no node of the cluster needs none of them, and its
permissions should deny them (docs/operations.md).
"""

from __future__ import annotations

import hmac
from typing import Final

PROTOCOL: Final = 1
"""Version of what nodes say to each other. Nodes of different ones do not join."""

ROOT: Final = "vixio.cluster"

JOIN: Final = f"{ROOT}.join"
"""Request of a new node; one of the cluster answers whether it may join."""

STATUS: Final = f"{ROOT}.status"
"""Request to all nodes: what they report about themselves."""

STATE: Final = f"{ROOT}.state"
"""``STATE.<node>``: what a node has, and that it lives."""

ASK: Final = f"{ROOT}.ask"
"""Asks a node, or all of them, for the whole of what they have."""

NEWS: Final = f"{ROOT}.news"
"""Broadcasts."""

INBOX: Final = f"{ROOT}.inbox"
"""Answers, which hold conversations: not where tool services listen."""

DEVICES: Final = "vixio_devices"
"""Bucket: the node that last claimed each device."""

CONVERSATIONS: Final = "vixio_conversations"
"""Bucket: conversations for the next holder, where no store is shared."""

_PLAIN: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")


def node_subject(node: str, verb: str) -> str:
    """Return the subject of requests to one node."""
    return f"{ROOT}.node.{node}.{verb}"


def encode(text: str) -> str:
    """Return ``text`` as one token of a subject and a key of a bucket, reversibly.

    Keys of buckets take ``[-/_=.a-zA-Z0-9]`` (NATS ADR-8); other bytes become ``=`` and two digits.
    """
    return "".join(
        chr(byte) if byte in _PLAIN else f"={byte:02X}" for byte in text.encode("utf-8", "replace")
    )


def proof_of(secret: str, node: str) -> str:
    """Return what shows that ``node`` knows the secret of the cluster, without telling it."""
    return hmac.new(secret.encode(), f"vixio node {node}".encode(), "sha256").hexdigest()
