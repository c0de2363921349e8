"""What RabbitMQ alone has: exchanges and queues that somebody changes, redelivery, headers."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import cast

import aio_pika
import pytest
import pytest_asyncio
from aio_pika.abc import AbstractChannel

from tests.brokers.parts import LIMIT, Connect, Held, ask, echo, serving
from tests.support.waiting import until
from vixio.bus import ToolBus, rabbitmq
from vixio.bus.broker import Message
from vixio.bus.calls import Route
from vixio.bus.queues import canonical
from vixio.bus.rabbitmq import RabbitMqBroker
from vixio.bus.serving import ServingLimits
from vixio.bus.wire import Request
from vixio.core.errors import ToolError

pytestmark = pytest.mark.parametrize("server", ["rabbitmq"], indirect=True, scope="session")


@pytest_asyncio.fixture
async def operator(url: str) -> AsyncIterator[AbstractChannel]:
    """Return a channel of somebody else."""
    connection = await aio_pika.connect(url)
    async with connection:
        yield await connection.channel()


async def test_an_exchange_of_another_kind_costs_its_calls_alone(
    caller: ToolBus,
    service: ToolBus,
    operator: AbstractChannel,
    queue: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = f"{queue}-direct"
    await operator.declare_exchange(canonical(other), "direct", durable=True)
    async with serving(service, queue, echo):
        for _ in range(3):
            with pytest.raises(ToolError) as caught:
                await ask(caller, other)
            assert caught.value.type == "disconnected"
            await ask(caller, queue)
    assert caller.connected
    (report,) = [each for each in caplog.records if each.message == "broker reports an error"]
    assert "PRECONDITION_FAILED - inequivalent arg 'type'" in report.__dict__["reason"]
    assert canonical(other) in report.__dict__["reason"]


async def test_a_queue_that_cannot_be_listened_to_is_named(
    service: ToolBus, operator: AbstractChannel, queue: str
) -> None:
    name = canonical(queue)
    await operator.declare_exchange(name, "direct", durable=True)
    running = await service.serve(queue, echo)
    await until(lambda: not service.connected, what="the refusal", seconds=LIMIT)
    assert name in service.broker.fault
    assert "PRECONDITION_FAILED" in service.broker.fault
    await operator.exchange_delete(name)
    await until(lambda: service.connected, what="the next attempt", seconds=LIMIT)
    assert json.loads(await ask(service, queue, a=1))[2] == {"a": 1}
    await running.stop(0)


async def test_a_deleted_queue_is_made_again(
    caller: ToolBus, service: ToolBus, operator: AbstractChannel, queue: str
) -> None:
    async with serving(service, queue, echo):
        await ask(caller, queue)
        lost = asyncio.Event()
        service.broker.watchers.append(lambda up: None if up else lost.set())
        await operator.queue_delete(f"{canonical(queue)}.vixio")
        async with asyncio.timeout(LIMIT):
            await lost.wait()
        await until(lambda: service.connected, what="the connection", seconds=LIMIT)
        assert json.loads(await ask(caller, queue, a=1))[2] == {"a": 1}


async def test_a_deleted_exchange_is_made_again(
    caller: ToolBus, service: ToolBus, operator: AbstractChannel, queue: str
) -> None:
    changes: dict[ToolBus, list[bool]] = {caller: [], service: []}
    for bus, seen in changes.items():
        bus.broker.watchers.append(seen.append)
    async with serving(service, queue, echo):
        await ask(caller, queue)
    await operator.exchange_delete(canonical(queue))
    with pytest.raises(ToolError) as caught:
        await ask(caller, queue)
    assert caught.value.type == "disconnected"
    async with serving(service, queue, echo):
        for seen in changes.values():
            await until(lambda seen=seen: True in seen, what="a connection", seconds=LIMIT)  # type: ignore[misc]
            assert seen == [False, True]
        assert json.loads(await ask(caller, queue, a=1))[2] == {"a": 1}


@pytest.mark.parametrize("idempotent", [True, False])
async def test_what_had_not_begun_goes_to_another_instance(
    caller: ToolBus, connected: Connect, queue: str, idempotent: bool
) -> None:
    """Marked, because the broker cannot know that it had not begun."""
    dying, held, executed = await connected(), Held(), Held()
    executed.go.set()
    headers = {"idempotent": "true"} if idempotent else {}
    route = Route(queue)
    async with serving(dying, queue, held, limits=ServingLimits(1, backlog=5)) as first:
        calls = [
            asyncio.create_task(caller.call(route, Request("", {}, {"number": n}, headers), LIMIT))
            for n in range(2)
        ]
        await until(lambda: first.at_work == 2 and held.begun, what="both calls", seconds=LIMIT)
        (begun,) = held.begun
        async with serving(await connected(), queue, executed):
            connection = cast(RabbitMqBroker, dying.broker)._connection
            assert connection is not None
            connection.sockets.abort()
            waiting = calls[1 - cast(int, begun)]
            if idempotent:
                assert await waiting == f"done {1 - cast(int, begun)}"
            else:
                with pytest.raises(ToolError, match="another instance may have executed"):
                    await waiting
        assert begun not in executed.begun
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def test_a_dead_broker_is_no_traceback(
    caller: ToolBus, service: ToolBus, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    held = Held()
    with caplog.at_level(logging.DEBUG):
        async with serving(service, queue, held):
            call = asyncio.create_task(ask(caller, queue, number=1))
            await until(lambda: held.begun, what="the call to begin", seconds=LIMIT)
            for bus in (caller, service):
                connection = cast(RabbitMqBroker, bus.broker)._connection
                assert connection is not None
                connection.sockets.abort()
            with pytest.raises(ToolError):
                await call
            await until(lambda: caller.connected, what="the connection", seconds=LIMIT)
    shown = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert {each.name for each in shown} == {"vixio.bus.upkeep"}
    assert not any(each.exc_info for each in shown)


async def test_headers_of_other_types_are_text(
    service: ToolBus, operator: AbstractChannel, queue: str
) -> None:
    taken: asyncio.Queue[Message] = asyncio.Queue()
    subscription = await service.broker.subscribe(queue, "shared", taken.put)
    exchange = await operator.get_exchange(canonical(queue))
    headers = {
        "id": "by-hand",
        "deadline": 1_900_000_000_000,
        "idempotent": True,
        "when": datetime(2030, 1, 1, tzinfo=UTC),
        "nested": {"a": [1, None]},
        "raw": bytearray(b"\xff"),
        "none": None,
    }
    await exchange.publish(aio_pika.Message(b"{}", headers=headers), "")  # type: ignore[arg-type]
    async with asyncio.timeout(LIMIT):
        message = await taken.get()
    assert message.headers == {
        "id": "by-hand",
        "deadline": "1900000000000",
        "idempotent": "true",
    }
    await service.broker.unsubscribe(subscription)


@pytest.mark.parametrize("mailbox", ["x" * 300, "猫" * 200, "nobody"])
async def test_a_mailbox_that_cannot_be_is_no_harm(
    caller: ToolBus, service: ToolBus, queue: str, mailbox: str
) -> None:
    async with serving(service, queue, echo):
        headers = {"id": "by-hand", "reply_to": mailbox}
        await caller.broker.publish(queue, Request().encode(), headers)
        assert json.loads(await ask(caller, queue, a=1))[2] == {"a": 1}
    assert service.connected


async def test_a_header_that_has_no_encoding_is_refused(caller: ToolBus, queue: str) -> None:
    request = Request("", {}, {}, {"session": "\ud800"})
    with pytest.raises(ToolError):
        await caller.call(Route(queue), request, LIMIT)
    assert caller.connected


@pytest.mark.parametrize("named", [True, False])
async def test_a_queue_that_outlives_its_service(
    caller: ToolBus, service: ToolBus, operator: AbstractChannel, queue: str, named: bool
) -> None:
    """A call fails at once instead of waiting for its time-out, and nothing is left for the
    service to execute later. ``named``: as TrustGraph's, by its description."""
    name = canonical(queue)
    consumers = f"{name}.someone-request" if named else ""
    route = Route(queue, consumer_queue=consumers)
    await operator.declare_exchange(name, "fanout", durable=True)
    kept = await operator.declare_queue(
        consumers or f"{name}.vixio",
        durable=True,
        auto_delete=not named,
        arguments={} if named else {"x-expires": rabbitmq.UNUSED_S * 1000},
    )
    await kept.bind(name, "")
    for _ in range(3):
        with pytest.raises(ToolError, match="no service is connected to its queue") as caught:
            await caller.call(route, Request("", {}, {"a": 1}), LIMIT)
        assert (caught.value.type, caught.value.retryable) == ("disconnected", True)
    assert await kept.get(fail=False, no_ack=True) is None
    if named:
        taken: asyncio.Queue[object] = asyncio.Queue()
        tag = await kept.consume(taken.put, no_ack=True)
        with pytest.raises(ToolError, match="no answer within"):
            await caller.call(route, Request("", {}, {"a": 1}), 0.2)
        await kept.cancel(tag)
        with pytest.raises(ToolError, match="no service is connected"):
            await caller.call(route, Request("", {}, {"a": 1}), LIMIT)
        await kept.delete(if_unused=False, if_empty=False)
    else:
        async with serving(service, queue, echo):
            assert json.loads(await ask(caller, queue, a=1))[2] == {"a": 1}
    with pytest.raises(ToolError, match="no service is connected"):
        await caller.call(route, Request("", {}, {"a": 1}), LIMIT)


async def test_a_service_with_a_queue_of_its_own_name_is_called(
    caller: ToolBus, operator: AbstractChannel, queue: str
) -> None:
    """Nothing names it, so nothing can be counted; an exclusive one is not counted either."""
    name = canonical(queue)
    await operator.declare_exchange(name, "fanout", durable=True)
    taken: asyncio.Queue[object] = asyncio.Queue()
    theirs = await operator.declare_queue(f"{name}.theirs", exclusive=True)
    await theirs.bind(name, "")
    await theirs.consume(taken.put, no_ack=True)
    for route in (Route(queue), Route(queue, consumer_queue=f"{name}.theirs")):
        call = asyncio.create_task(caller.call(route, Request("", {}, {"a": 1}), LIMIT))
        async with asyncio.timeout(LIMIT):
            await taken.get()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    assert caller.connected


async def test_counting_is_bounded(
    caller: ToolBus, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq, "MAX_KNOWN", 2)
    for number in range(4):
        with pytest.raises(ToolError, match="no service is connected"):
            await ask(caller, f"{queue}-{number}")
    link = cast(RabbitMqBroker, caller.broker)._link
    assert link is not None
    assert len(link.uncounted) == 2


async def test_known_exchanges_are_bounded(
    caller: ToolBus, service: ToolBus, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq, "MAX_KNOWN", 2)
    for number in range(5):
        await caller.broker.publish(f"{queue}-{number}", b"{}", {})
    link = cast(RabbitMqBroker, caller.broker)._link
    assert link is not None
    assert len(link.exchanges) == 2
    async with serving(service, queue, echo):
        assert json.loads(await ask(caller, queue, a=1))[2] == {"a": 1}
