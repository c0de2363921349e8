"""A broker in memory: for tests, and for services in the server's own process.

Brokers with the same URL and event loop share their queues.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import Final
from weakref import WeakKeyDictionary

from vixio.bus.address import BrokerAddress
from vixio.bus.broker import Broker, Message, Subscription
from vixio.bus.errors import NobodyServes
from vixio.bus.queues import canonical
from vixio.core.tasks import cancel_and_wait

MAX_QUEUED: Final = 4_096
"""Messages that wait for one subscriber; further ones are lost, as with a slow consumer of NATS."""


class _Hub:
    """What the brokers of one URL share: queue → subscribers."""

    def __init__(self) -> None:
        self.queues: dict[str, list[_Feed]] = {}
        self.turn = count()


_HUBS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Hub]] = WeakKeyDictionary()


class _Feed:
    """Brings one subscriber its messages, in their order."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self._messages: asyncio.Queue[Message] = asyncio.Queue(MAX_QUEUED)
        self._slots = asyncio.Semaphore(subscription.prefetch)
        self._handling: set[asyncio.Future[None]] = set()
        self._task = asyncio.create_task(self._run(), name=f"feed {subscription.queue}")

    def put(self, message: Message) -> None:
        with suppress(asyncio.QueueFull):
            self._messages.put_nowait(message)

    async def _run(self) -> None:
        handler = self.subscription.handler
        while True:
            message = await self._messages.get()
            if self.subscription.mode != "shared":
                await handler(message)
                continue
            await self._slots.acquire()
            task = asyncio.ensure_future(handler(message))
            self._handling.add(task)
            task.add_done_callback(self._handled)

    def _handled(self, task: asyncio.Future[None]) -> None:
        self._handling.discard(task)
        self._slots.release()

    async def close(self) -> list[Message]:
        """Bring no more; return what has not been brought."""
        await cancel_and_wait(self._task)
        return [self._messages.get_nowait() for _ in range(self._messages.qsize())]


class MemoryBroker(Broker):
    """A connection to the broker of this process that the URL names."""

    def __init__(self, address: BrokerAddress) -> None:
        super().__init__(address)
        hubs = _HUBS.setdefault(asyncio.get_running_loop(), {})
        self._hub = hubs.setdefault(str(address), _Hub())

    async def _publish(
        self, queue: str, body: bytes, headers: Mapping[str, str], answers: bool
    ) -> None:
        reached = self._deliver(canonical(queue), body, headers)
        if answers and not reached:
            raise NobodyServes

    async def _reply(self, mailbox: str, body: bytes, headers: Mapping[str, str]) -> None:
        self._deliver(mailbox, body, headers)

    def _deliver(self, name: str, body: bytes, headers: Mapping[str, str]) -> bool:
        feeds = self._hub.queues.get(name, [])
        message = Message(body, dict(headers))
        sharing = [feed for feed in feeds if feed.subscription.mode == "shared"]
        for feed in feeds:
            if feed.subscription.mode != "shared":
                feed.put(message)
        if sharing:
            sharing[next(self._hub.turn) % len(sharing)].put(message)
        return bool(feeds)

    async def _open(self) -> None:
        pass

    async def _attach(self, subscription: Subscription) -> None:
        feed = subscription.native = _Feed(subscription)
        self._hub.queues.setdefault(_name(subscription), []).append(feed)

    async def _detach(self, subscription: Subscription) -> None:
        name = _name(subscription)
        feeds = self._hub.queues.get(name, [])
        if subscription.native in feeds:
            feeds.remove(subscription.native)
            left = await subscription.native.close()
            for feed in feeds[:1] if subscription.mode == "shared" else ():
                for message in left:
                    feed.put(message)
        if not feeds:
            self._hub.queues.pop(name, None)

    async def _shut(self) -> None:
        for subscription in tuple(self._subscriptions):
            await self._detach(subscription)


def _name(subscription: Subscription) -> str:
    if subscription.mode == "replies":
        return subscription.queue
    return canonical(subscription.queue)
