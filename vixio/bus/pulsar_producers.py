"""The producers of one connection to Pulsar: one a topic, kept for the next message."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pulsar.asyncio import Producer

from vixio.bus.errors import BrokerError
from vixio.bus.pulsar_client import FAULTS, Client

MAX_KEPT: Final = 256
"""Producers that are kept; the one that was not used for the longest time is closed."""

SEND_MS: Final = 5_000
"""Milliseconds within which the broker has to confirm a message."""

MAX_PENDING: Final = 1_000
"""Messages of one producer that wait for that; a further one is refused."""


@dataclass(eq=False, slots=True)
class _Kept:
    """A producer. ``users``: messages that are being sent."""

    made: asyncio.Task[Producer]
    users: int = 0
    dropped: bool = False


class Producers:
    """Sends messages to topics."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """Return the number of producers."""
        return len(self._kept)

    async def send(self, topic: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a message; returns when the broker has it. Raises BrokerError and :data:`FAULTS`."""
        kept = self._find(topic)
        kept.users += 1
        try:
            producer = await asyncio.shield(kept.made)
            if not producer.is_connected():
                # The library would send it when the topic is back, to callers that have given up.
                raise BrokerError("the topic is not connected at the moment")
            await producer.send(body, properties=dict(headers) or None)
        finally:
            kept.users -= 1
            if kept.dropped and not kept.users:
                self._close(kept)

    def stop(self) -> None:
        """Forget the producers: they end with their client."""
        self._kept.clear()

    def _find(self, topic: str) -> _Kept:
        kept = self._kept.get(topic)
        if kept is not None:
            self._kept.move_to_end(topic)
            return kept
        task = asyncio.create_task(self._make(topic), name="make a Pulsar producer")
        kept = self._kept[topic] = _Kept(task)
        task.add_done_callback(lambda done: self._made(topic, kept, done))
        if len(self._kept) > MAX_KEPT:
            _, oldest = self._kept.popitem(last=False)
            oldest.dropped = True
            if not oldest.users:
                self._close(oldest)
        return kept

    async def _make(self, topic: str) -> Producer:
        return await self._client.create_producer(
            topic,
            send_timeout_millis=SEND_MS,
            max_pending_messages=MAX_PENDING,
            block_if_queue_full=False,
            batching_enabled=False,
        )

    def _made(self, topic: str, kept: _Kept, task: asyncio.Task[Producer]) -> None:
        """Forget a producer that could not be made: the next message tries again."""
        if (task.cancelled() or task.exception() is not None) and self._kept.get(topic) is kept:
            del self._kept[topic]

    def _close(self, kept: _Kept) -> None:
        task = asyncio.create_task(self._finish(kept), name="close a Pulsar producer")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _finish(self, kept: _Kept) -> None:
        with suppress(*FAULTS):  # it ends with the client
            await (await asyncio.shield(kept.made)).close()
