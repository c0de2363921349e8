"""What is Pulsar's alone: topics that last, producers, several hosts, a broker that hangs."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from tests.brokers.parts import LIMIT, Connect, Held, ask, echo, number, serving
from tests.support.brokers import BrokerServer
from tests.support.pulsar import PulsarServer
from tests.support.servers import free_port
from tests.support.waiting import until
from vixio.bus import ToolBus, connect
from vixio.bus.broker import Message
from vixio.bus.wire import Request
from vixio.core.errors import ConfigError, ToolError

pytest.importorskip("pulsar", exc_type=ImportError)

from vixio.bus import pulsar_producers
from vixio.bus.pulsar import PulsarBroker

pytestmark = pytest.mark.parametrize("server", ["pulsar"], indirect=True)


@pytest.fixture
def lasting() -> str:
    """Return a queue of the test's own that outlasts its subscribers."""
    return f"flow:tg:contract-{os.getpid()}-{number()}"


async def test_a_queue_that_lasts_keeps_requests_for_the_next_instance(
    caller: ToolBus, service: ToolBus, lasting: str
) -> None:
    async with serving(service, lasting, echo):
        await ask(caller, lasting, number=1)
    call = asyncio.create_task(ask(caller, lasting, number=2))
    await until(lambda: len(caller.calls), what="the call", seconds=LIMIT)
    async with serving(service, lasting, echo):
        assert '"number": 2' in await call


async def test_what_an_instance_has_not_begun_goes_to_another_as_redelivered(
    caller: ToolBus, connected: Connect, lasting: str
) -> None:
    first, second = await connected(), await connected()
    taken: list[Message] = []
    never = asyncio.Event()

    async def keep(message: Message) -> None:
        taken.append(message)
        await never.wait()

    await first.broker.subscribe(lasting, "shared", keep)
    await caller.broker.publish(lasting, b"{}", {"id": "kept"})
    await until(lambda: taken, what="the message", seconds=LIMIT)
    assert not taken[0].redelivered
    await first.close()
    got: asyncio.Queue[Message] = asyncio.Queue()
    subscription = await second.broker.subscribe(lasting, "shared", got.put)
    async with asyncio.timeout(LIMIT):
        message = await got.get()
    assert message.headers["id"] == "kept"
    assert message.redelivered
    await second.broker.unsubscribe(subscription)


async def test_a_lasting_queue_is_broadcast_from_now_on(
    caller: ToolBus, service: ToolBus, lasting: str
) -> None:
    await caller.broker.publish(lasting, b"before", {"id": "1"})
    got: asyncio.Queue[Message] = asyncio.Queue()
    for bus in (caller, service):
        await bus.broker.subscribe(lasting, "broadcast", got.put)
    await caller.broker.publish(lasting, b"after", {"id": "2"})
    async with asyncio.timeout(LIMIT):
        assert [(await got.get()).body for _ in range(2)] == [b"after", b"after"]


async def test_producers_are_made_once_and_the_oldest_are_closed(
    caller: ToolBus, service: ToolBus, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulsar_producers, "MAX_KEPT", 3)
    broker = caller.broker
    assert isinstance(broker, PulsarBroker)
    producers = broker._producers
    assert producers is not None
    made: list[str] = []
    create = producers._client.create_producer

    async def counted(topic: str, **options: object) -> object:
        made.append(topic)
        return await create(topic, **options)

    monkeypatch.setattr(producers._client, "create_producer", counted)
    got: list[bytes] = []

    async def take(message: Message) -> None:
        got.append(message.body)

    queues = [f"{queue}-{each}" for each in range(8)]
    for each in queues:
        await service.broker.subscribe(each, "broadcast", take)
    # All at once: producers that are at work are dropped from the list, but not closed.
    sends = [broker.publish(each, each.encode(), {}) for each in queues for _ in range(4)]
    await asyncio.gather(*sends)
    await until(lambda: len(got) == 32, what="all messages", seconds=LIMIT)
    assert sorted(got) == sorted(each.encode() for each in queues for _ in range(4))
    assert sorted(made) == sorted(queues)
    assert len(producers) == 3
    await until(lambda: not producers._closing, what="the others to be closed", seconds=LIMIT)
    await broker.publish(queues[0], b"again", {})
    await until(lambda: b"again" in got, what="the message", seconds=LIMIT)


async def test_a_topic_that_is_refused_costs_only_its_messages(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    async with serving(service, queue, echo):
        request = Request().encode()
        for each, mailbox in enumerate(("persistent://", "http://x/y/z", "a b", "x" * 500)):
            headers = {"id": f"to-{each}", "reply_to": mailbox}
            await caller.broker.publish(queue, request, headers)
        unsent = "service.unsent"
        counters = service.counters
        await until(lambda: counters.snapshot().get(unsent) == 4, what="refusals", seconds=LIMIT)
        await ask(caller, queue)


async def test_several_hosts_one_of_them_away(server: BrokerServer, url: str, queue: str) -> None:
    bus = connect(f"pulsar://127.0.0.1:{free_port()},127.0.0.1:{server.port}")
    try:
        await bus.start()
        await until(lambda: bus.connected, what="the broker", seconds=LIMIT)
        async with serving(bus, queue, echo):
            await ask(bus, queue)
    finally:
        await bus.close()


async def test_the_path_is_the_namespace_of_mailboxes_and_announcements(
    server: BrokerServer, url: str, queue: str
) -> None:
    bus = connect(f"{url}/tg/answers")
    try:
        await bus.start()
        await until(lambda: bus.connected, what="the broker", seconds=LIMIT)
        assert bus.broker.mailbox.startswith("non-persistent://tg/answers/vixio.reply.")
        async with serving(bus, queue, echo):
            await ask(bus, queue)
    finally:
        await bus.close()


async def test_a_path_that_is_no_namespace_is_a_mistake_of_the_configuration(
    server: BrokerServer,
) -> None:
    for path in ("tg", "tg/a/b", "tg/", "tg/a b"):
        with pytest.raises(ConfigError, match="tenant/namespace"):
            connect(f"pulsar://127.0.0.1/{path}")


async def test_a_broker_that_hangs_is_given_up(
    caller: ToolBus,
    service: ToolBus,
    server: PulsarServer,
    queue: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vixio.bus.pulsar.PING_S", 0.5)
    for bus in (caller, service):
        bus.broker.lost("to look more often")
        await until(lambda bus=bus: not bus.connected, seconds=LIMIT)  # type: ignore[misc]
    for bus in (caller, service):
        await until(lambda bus=bus: bus.connected, seconds=LIMIT)  # type: ignore[misc]
    held = Held()
    async with serving(service, queue, held):
        call = asyncio.create_task(ask(caller, queue, number=1))
        await until(lambda: held.begun, what="the call to begin", seconds=LIMIT)
        server.signal(signal.SIGSTOP)
        try:
            with pytest.raises(ToolError, match="connection to the broker was lost"):
                await call
            await until(lambda: not service.connected, what="the loss", seconds=LIMIT)
        finally:
            server.signal(signal.SIGCONT)
        held.go.set()
        for bus in (caller, service):
            await until(lambda bus=bus: bus.connected, what="it to be back", seconds=LIMIT)  # type: ignore[misc]
        assert await ask(caller, queue, number=2) == "done 2"
