"""What is not of the wire, and instances and brokers that die."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.brokers.parts import LIMIT, Connect, Held, ask, echo, number, on_servers, serving
from tests.support.brokers import BrokerServer
from tests.support.servers import python
from tests.support.waiting import until
from vixio.bus import ToolBus, connect
from vixio.bus.broker import Message
from vixio.bus.calls import Route
from vixio.bus.wire import Request, dump
from vixio.core.errors import ToolError


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\x00",
        b"[1]",
        b'{"config": 5}',
        b'{"arguments": "[1]"}',
        b'{"arguments": "{\\"a\\": NaN}"}',
        b'{"user": {}}',
        b'{"arguments": "{\\"a\\": 1e999}"}',
        b'{"config": "' + b"[" * 50_000 + b'"}',
    ],
)
async def test_a_poisoned_request_costs_nothing_else(
    caller: ToolBus, service: ToolBus, queue: str, body: bytes
) -> None:
    async with serving(service, queue, echo):
        await caller.broker.publish(queue, body, {"id": f"poison-{number()}"})
        await caller.broker.publish(queue, body, {})
        assert json.loads(await ask(caller, queue, a=1))[2] == {"a": 1}
        bad = "service.bad"
        await until(lambda: service.counters.snapshot().get(bad, 0) >= 2, seconds=LIMIT)


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"null", b'{"response": NaN}', b"[" * 100_000], ids=range(5)
)
async def test_a_poisoned_answer_costs_nothing_else(
    caller: ToolBus, service: ToolBus, queue: str, body: bytes
) -> None:
    async with serving(service, queue, echo):
        for headers in ({"id": "nobody"}, {}, {"id": "x" * 500}):
            await service.broker.reply(caller.broker.reply_to("x"), body, headers)
        assert json.loads(await ask(caller, queue, a=1))[2] == {"a": 1}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"null",
        b'{"response": 1e999}',
        b'{"response":' + b"[" * 300 + b"]" * 300 + b"}",
    ],
    ids=range(5),
)
async def test_a_poisoned_piece_is_dropped(
    caller: ToolBus, service: ToolBus, queue: str, body: bytes
) -> None:
    async def take(message: Message) -> None:
        headers = {"id": message.headers["id"]}
        for each in (body, dump({"response": "good", "end_of_stream": True})):
            await service.broker.reply(message.headers["reply_to"], each, headers)

    subscription = await service.broker.subscribe(queue, "shared", take)
    for _ in range(2):
        assert await ask(caller, queue) == "good"
    assert caller.counters.snapshot()["bus.answers.bad"] == 2
    await service.broker.unsubscribe(subscription)


async def test_an_answer_with_a_hole_is_refused(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    async def take(message: Message) -> None:
        headers = {"id": message.headers["id"], "instance": "i"}
        for seq in ("0", "2"):
            body = dump({"response": seq, "end_of_stream": seq == "2"})
            await service.broker.reply(message.headers["reply_to"], body, {**headers, "seq": seq})

    subscription = await service.broker.subscribe(queue, "shared", take)
    with pytest.raises(ToolError, match="a part of the answer was lost"):
        await ask(caller, queue)
    await service.broker.unsubscribe(subscription)


async def test_a_request_that_is_too_large_is_refused(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    async with serving(service, queue, echo):
        with pytest.raises(ToolError, match="too large") as caught:
            await ask(caller, queue, text="x" * (caller.broker.max_bytes + 1))
        assert caught.value.type == "invalid_arguments"
        assert json.loads(await ask(caller, queue, a=1))[2] == {"a": 1}


INSTANCE = """
import asyncio, sys
from vixio.bus import connect

async def invoke(request):
    print("begun", flush=True)
    await asyncio.sleep(600)

async def main():
    bus = connect(sys.argv[1])
    await bus.start()
    while not bus.connected:
        await asyncio.sleep(0.01)
    await bus.serve(sys.argv[2], invoke)
    print("serving", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@asynccontextmanager
async def instance(url: str, queue: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run an instance in a process of its own."""
    async with python("-c", INSTANCE, url, queue, stdout=asyncio.subprocess.PIPE) as process:
        await line(process, b"serving")
        yield process


async def line(process: asyncio.subprocess.Process, expected: bytes) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(LIMIT):
        assert (await process.stdout.readline()).strip() == expected


@on_servers
async def test_an_instance_killed_in_mid_call_costs_that_call(
    caller: ToolBus, service: ToolBus, server: BrokerServer, url: str, queue: str
) -> None:
    async with instance(url, queue) as process:
        route = Route(queue, idle_timeout=2, lively=True)
        call = asyncio.create_task(caller.call(route, Request(), LIMIT))
        await line(process, b"begun")
        process.kill()
        with pytest.raises(ToolError, match="no sign of life") as caught:
            await call
        assert caught.value.type == "disconnected"
    executed: list[Request] = []

    async def other(request: Request) -> str:
        executed.append(request)
        return "from another instance"

    async with serving(service, queue, other):
        # pulsar-lite learns that an instance is dead when it gives it its share, which is lost.
        for _ in range(2):
            await caller.broker.publish(queue, b"", {})
        bad = "service.bad"
        await until(lambda: service.counters.snapshot().get(bad), what="a share", seconds=LIMIT)
        assert await ask(caller, queue) == "from another instance"
    assert len(executed) == 1  # not the call that had begun elsewhere


@on_servers
async def test_a_broker_that_dies_fails_calls_at_once_and_comes_back(
    caller: ToolBus, service: ToolBus, server: BrokerServer, queue: str
) -> None:
    held = Held()
    async with serving(service, queue, held):
        call = asyncio.create_task(ask(caller, queue, number=1))
        await until(lambda: held.begun, what="the call to begin", seconds=LIMIT)
        server.kill()
        with pytest.raises(ToolError) as caught:
            await call
        assert caught.value.type == "disconnected"
        await until(lambda: not caller.connected, what="the loss", seconds=LIMIT)
        assert caller.broker.fault
        with pytest.raises(ToolError, match="the broker is not connected") as caught:
            await ask(caller, queue, number=2)
        assert caught.value.retryable
        held.go.set()
        await asyncio.to_thread(server.start)
        for bus in (caller, service):
            await until(lambda bus=bus: bus.connected, what="the broker", seconds=LIMIT)  # type: ignore[misc]
        assert caller.broker.fault == ""
        assert await ask(caller, queue, number=3) == "done 3"
    assert held.begun == [1, 3]
    assert len(caller.calls) == 0


@on_servers
async def test_a_broker_that_is_away_at_the_start_is_awaited(
    server: BrokerServer, queue: str
) -> None:
    server.kill()
    bus = connect(server.url)
    try:
        await bus.start()
        async with asyncio.timeout(LIMIT):
            await bus.ready()
        assert not bus.connected
        assert "127.0.0.1" in bus.broker.fault
        running = await bus.serve(queue, echo)
        await asyncio.to_thread(server.start)
        await until(lambda: bus.connected, what="the broker", seconds=LIMIT)
        assert json.loads(await ask(bus, queue, a=1))[2] == {"a": 1}
        await running.stop(0)
    finally:
        await bus.close()


async def test_closing_fails_what_waits(connected: Connect, service: ToolBus, queue: str) -> None:
    bus = await connected()
    held = Held()
    async with serving(service, queue, held):
        call = asyncio.create_task(ask(bus, queue, number=1))
        await until(lambda: held.begun, what="the call to begin", seconds=LIMIT)
        await bus.close()
        with pytest.raises(ToolError, match="closed"):
            await call
        with pytest.raises(ToolError, match="not connected"):
            await ask(bus, queue)
        await bus.close()
