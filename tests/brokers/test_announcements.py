"""Services that announce themselves."""

from __future__ import annotations

import pytest

from tests.brokers.parts import LIMIT
from tests.support.waiting import until
from vixio.bus import ToolBus
from vixio.bus.announce import Announcement
from vixio.bus.queues import beside


async def test_services_announce_themselves_and_go(
    caller: ToolBus, service: ToolBus, queue: str, prefix: str
) -> None:
    changes: list[None] = []
    followed = await caller.follow(prefix, lambda: changes.append(None))
    described = {"id": "joke", "request-queue": queue}
    first = Announcement("one", described, ({"name": "tell-joke"},))
    announcer = await service.announce(first, prefix)
    await until(followed.services, what="the announcement", seconds=LIMIT)
    assert followed.services() == {"joke": [first]}
    await announcer.update([{"name": "tell-pun"}])
    await until(lambda: len(changes) >= 2, what="the change", seconds=LIMIT)
    (now,) = followed.services()["joke"]
    assert now.tools == ({"name": "tell-pun"},)
    await announcer.stop()
    await until(lambda: not followed.services(), what="the farewell", seconds=LIMIT)
    await followed.stop()


async def test_a_caller_that_comes_later_asks_who_is_there(
    caller: ToolBus, service: ToolBus, queue: str, prefix: str
) -> None:
    announcement = Announcement("one", {"id": "joke", "request-queue": queue})
    announcer = await service.announce(announcement, prefix)
    followed = await caller.follow(prefix, lambda: None)
    await until(followed.services, what="the answer", seconds=LIMIT)
    await announcer.stop()
    await followed.stop()


async def test_a_service_that_falls_silent_is_gone(
    caller: ToolBus, service: ToolBus, prefix: str
) -> None:
    followed = await caller.follow(prefix, lambda: None)
    silent = Announcement("one", {"id": "joke"}, ttl=0.5)
    await service.broker.publish(beside(prefix, "announce"), silent.encode(), {})
    await until(followed.services, what="the announcement", seconds=LIMIT)
    await until(lambda: not followed.services(), what="the end of its time", seconds=LIMIT)
    await followed.stop()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"v": 1}',
        b'{"v": 2, "instance": "x"}',
        b'{"v": 1, "instance": 5, "service": {"id": "a"}}',
        b'{"v": 1, "instance": "x", "service": {"id": "a"}, "ttl": -1}',
        b'{"v": 1, "instance": "x", "service": {"id": "a"}, "tools": {}}',
    ],
)
async def test_a_poisoned_announcement_costs_nothing_else(
    caller: ToolBus, service: ToolBus, body: bytes, prefix: str
) -> None:
    followed = await caller.follow(prefix, lambda: None)
    announces = beside(prefix, "announce")
    await service.broker.publish(announces, body, {})
    good = Announcement("good", {"id": "joke"})
    await service.broker.publish(announces, good.encode(), {})
    await until(followed.services, what="the announcement", seconds=LIMIT)
    assert list(followed.services()) == ["joke"]
    await followed.stop()
