"""What a node tells all others."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any, Final

from vixio.bus.errors import BrokerError
from vixio.cluster.nats.link import Link, Unsendable
from vixio.cluster.nats.names import NEWS
from vixio.core.cluster import Broadcast, OnBroadcast
from vixio.core.tools.types import JsonObject

_log = logging.getLogger(__name__)

MAX_WAITING: Final = 10_000
"""Messages that have not been handed to the client yet; over it the oldest are lost."""


class NatsBroadcast(Broadcast):
    """Messages go out one after another; without a bus they are lost."""

    def __init__(self, node: str, link: Link) -> None:
        self._node = node
        self._link = link
        self._listeners: dict[str, OnBroadcast] = {}
        self._waiting: deque[dict[str, Any]] = deque(maxlen=MAX_WAITING)
        self._wake = asyncio.Event()
        link.listen(NEWS, self._received)

    def send(self, topic: str, body: JsonObject) -> None:
        """Send to all other nodes."""
        if self._link.connected:
            self._waiting.append({"node": self._node, "topic": topic, "body": body})
            self._wake.set()

    def on_message(self, topic: str, receive: OnBroadcast) -> None:
        """Have ``receive`` called with what other nodes send."""
        self._listeners[topic] = receive

    async def run(self) -> None:
        """Send until it is cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                try:
                    await self._link.publish(NEWS, self._waiting.popleft())
                except Unsendable:
                    _log.warning("news of a node was too large to send")
                except BrokerError:
                    self._waiting.clear()

    def _received(self, body: dict[str, Any]) -> None:
        if body["node"] == self._node:
            return
        if listener := self._listeners.get(str(body["topic"])):
            listener(dict(body["body"]))
