"""Subscriptions that come and go while the connection is being opened."""

from __future__ import annotations

import asyncio

from tests.brokers.parts import LIMIT, number
from tests.support.waiting import until
from vixio.bus.address import parse_address
from vixio.bus.broker import Message, Subscription
from vixio.bus.memory import MemoryBroker


class SlowBroker(MemoryBroker):
    """Takes its time with every subscription."""

    def __init__(self) -> None:
        super().__init__(parse_address(f"memory://connecting-{number()}"))
        self.begun: list[str] = []
        self.go = asyncio.Event()

    async def _attach(self, subscription: Subscription) -> None:
        self.begun.append(subscription.queue)
        await self.go.wait()
        await super()._attach(subscription)


async def test_a_queue_that_is_added_while_connecting_is_listened_to() -> None:
    broker = SlowBroker()
    taken: asyncio.Queue[Message] = asyncio.Queue()
    await broker.subscribe("first", "shared", taken.put)
    await broker.start()
    await until(lambda: broker.begun, what="the first subscription", seconds=LIMIT)
    await broker.subscribe("second", "shared", taken.put)
    broker.go.set()
    await until(lambda: broker.connected, what="the connection", seconds=LIMIT)
    await broker.publish("second", b"{}", {}, answers=True)
    async with asyncio.timeout(LIMIT):
        assert (await taken.get()).body == b"{}"
    assert broker.begun == ["first", "second"]
    await broker.close()


async def test_a_queue_that_is_dropped_while_connecting_is_not_listened_to() -> None:
    broker = SlowBroker()
    taken: list[Message] = []

    async def take(message: Message) -> None:
        taken.append(message)

    dropped = await broker.subscribe("first", "broadcast", take)
    await broker.start()
    await until(lambda: broker.begun, what="the first subscription", seconds=LIMIT)
    await broker.unsubscribe(dropped)
    broker.go.set()
    await until(lambda: broker.connected, what="the connection", seconds=LIMIT)
    assert broker._hub.queues == {}
    await broker.close()
