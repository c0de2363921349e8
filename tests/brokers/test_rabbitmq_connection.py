"""How connections to RabbitMQ are opened, refused, given up and closed."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import cast

import pytest
from aiormq.channel import Channel

from tests.brokers.parts import LIMIT, Connect, ask, echo, serving
from tests.support.rabbitmq import RabbitMqServer
from tests.support.servers import free_port
from tests.support.waiting import until
from vixio.bus import ToolBus, amqp, connect
from vixio.bus.address import BrokerAddress, TlsFiles, parse_address
from vixio.bus.rabbitmq import RabbitMqBroker
from vixio.core.errors import ToolError

pytestmark = pytest.mark.parametrize("server", ["rabbitmq"], indirect=True, scope="session")


@asynccontextmanager
async def attempted(address: BrokerAddress) -> AsyncIterator[ToolBus]:
    """Give a bus that has tried once to connect."""
    bus = connect(address)
    try:
        await bus.start()
        async with asyncio.timeout(LIMIT):
            await bus.ready()
        yield bus
    finally:
        await bus.close()


@contextmanager
def stopped(server: RabbitMqServer) -> Iterator[None]:
    """Let the server hang, with its sockets open."""
    os.kill(server.pid, signal.SIGSTOP)
    end = time.monotonic() + LIMIT
    while not all(state == "T" for state in states(server.pid)):  # each thread stops by itself
        assert time.monotonic() < end
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


def states(pid: int) -> list[str]:
    """Return the states of a process's threads."""
    found = Path(f"/proc/{pid}/task").glob("*/stat")
    return [each.read_text("ascii", "replace").rpartition(")")[2].split()[0] for each in found]


async def test_a_refused_login_is_one_line_without_secrets(url: str) -> None:
    async with attempted(parse_address(url, user="guest", password="pass-word")) as bus:
        assert not bus.connected
        assert "refuses the login: check user and password" in bus.broker.fault
        assert "pass-word" not in bus.broker.fault


async def test_a_virtual_host_that_is_missing_is_named(url: str) -> None:
    async with attempted(parse_address(f"{url}/elsewhere")) as bus:
        assert not bus.connected
        assert "refuses the virtual host 'elsewhere'" in bus.broker.fault


async def test_the_virtual_host_may_be_written_out(url: str) -> None:
    async with attempted(parse_address(f"{url}/%2F")) as bus:
        assert bus.connected


async def test_another_host_of_the_cluster_is_used(server: RabbitMqServer, url: str) -> None:
    hosts = f"127.0.0.1:{free_port()},127.0.0.1:{server.port}"
    async with attempted(parse_address(f"amqp://{hosts}")) as bus:
        assert bus.connected


async def test_what_is_no_rabbitmq_is_named(server: RabbitMqServer, url: str) -> None:
    async def reject(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    other = await asyncio.start_server(reject, "127.0.0.1", 0)
    place = f"amqp://127.0.0.1:{other.sockets[0].getsockname()[1]}"
    async with other, attempted(parse_address(place)) as bus:
        assert not bus.connected
        assert place in bus.broker.fault


async def test_tls_with_an_authority_of_ones_own(server: RabbitMqServer, url: str) -> None:
    trusted = parse_address(server.tls_url, tls=TlsFiles(ca=str(server.ca)))
    async with attempted(trusted) as bus, serving(bus, "tg.request.tls", echo):
        assert "alice" in await ask(bus, "tg.request.tls")


async def test_a_certificate_that_is_not_trusted_is_refused(
    server: RabbitMqServer, url: str
) -> None:
    async with attempted(parse_address(server.tls_url)) as bus:
        assert not bus.connected
        assert "CERTIFICATE_VERIFY_FAILED" in bus.broker.fault


async def test_a_server_that_hangs_is_given_up(
    server: RabbitMqServer, connected: Connect, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amqp, "HEARTBEAT_S", 1)
    bus = await connected()
    async with serving(bus, queue, echo):
        with stopped(server):
            with pytest.raises(ToolError) as caught:
                await ask(bus, queue)
            assert caught.value.type == "disconnected"
            await until(lambda: not bus.connected, what="the loss", seconds=LIMIT)
        await until(lambda: bus.connected, what="the connection", seconds=LIMIT)
        assert "alice" in await ask(bus, queue)


async def test_a_connection_with_unsent_data_is_closed_although_the_server_hangs(
    server: RabbitMqServer, connected: Connect, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amqp, "HEARTBEAT_S", 60)  # it is not given up meanwhile
    bus = await connected()
    await bus.broker.publish(queue, b"{}", {})
    connection = cast(RabbitMqBroker, bus.broker)._connection
    assert connection is not None
    before = asyncio.all_tasks()
    with stopped(server):
        sending = [
            asyncio.create_task(bus.broker.publish(queue, bytes(bus.broker.max_bytes), {}))
            for _ in range(20)
        ]
        await until(lambda: connection.sockets.unsent, what="unsent data", seconds=LIMIT)
        async with asyncio.timeout(LIMIT):
            await bus.close()
            results = await asyncio.gather(*sending, return_exceptions=True)
        assert any(isinstance(each, Exception) for each in results)
        assert not any(isinstance(each, asyncio.CancelledError) for each in results)
        await until(lambda: not asyncio.all_tasks() - before, what="all tasks", seconds=LIMIT)


async def test_requests_wait_for_their_confirms_at_the_same_time(
    server: RabbitMqServer, connected: Connect, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def served(broker: RabbitMqBroker, queue: str, consumer_queue: str) -> None:
        """Leave out the count before a request, which the broker answers one after the other."""

    bus = await connected()
    async with serving(bus, queue, echo):
        await ask(bus, queue)
        monkeypatch.setattr(RabbitMqBroker, "_check_served", served)
        link = cast(RabbitMqBroker, bus.broker)._link
        assert link is not None
        requests = cast(Channel, await link.requests.get_underlay_channel())
        with stopped(server):
            calls = [asyncio.create_task(ask(bus, queue)) for _ in range(5)]
            await until(lambda: len(requests.confirmations) == 5, what="all", seconds=LIMIT)
        await asyncio.gather(*calls)


async def test_the_test_server_leaves_no_process(server: RabbitMqServer, url: str) -> None:
    processes = server.processes
    assert len(processes) >= 3
    assert all(running(each) for each in processes)
    server.kill()
    await until(lambda: not any(map(running, processes)), what="their end", seconds=LIMIT)


def running(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
