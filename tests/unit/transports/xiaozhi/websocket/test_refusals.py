"""Each limit over real sockets: the answer, the counter, and that other devices notice nothing."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from tests.support.registry import device_tokens, memory_registry
from tests.support.waiting import until
from tests.unit.transports.xiaozhi.support import (
    BOUND_S,
    Server,
    opus_packets,
    receive_json,
    running,
)
from tests.unit.transports.xiaozhi.websocket.raw_client import BINARY, TEXT, raw_client
from vixio.core.chunk import AudioIn
from vixio.core.clock import now
from vixio.core.timeouts import Timeouts
from vixio.transports.admission.addresses import parse_address
from vixio.transports.admission.limits import Limits
from vixio.transports.xiaozhi.websocket import handshakes
from vixio.transports.xiaozhi.websocket.channel import MAX_DROPPED_BYTES

NO_PROXIES: tuple[str, ...] = ()
PING = json.dumps({"type": "ping"})


async def refused(server: Server, device_id: str = "aa", **headers: str) -> tuple[int, str, str]:
    """Return status, Retry-After and body of a refused upgrade; 101 if it was not refused."""
    fields = {"Device-Id": device_id}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        async with connect(server.url(), additional_headers=fields):
            return 101, "", ""
    except InvalidStatus as answer:
        response = answer.response
        body = (response.body or b"").decode()
        return response.status_code, response.headers.get("Retry-After", ""), body


async def answers(client: ClientConnection) -> None:
    await client.send(PING)
    assert (await receive_json(client))["type"] == "pong"


async def closed(client: ClientConnection) -> tuple[int | None, str | None]:
    async with asyncio.timeout(BOUND_S):
        await client.wait_closed()
    return client.close_code, client.close_reason


# ── coming in ────────────────────────────────────────────────────────────────────────────────


async def test_connections_of_one_address() -> None:
    limits = Limits(connections_per_address=2)
    async with running(limits=limits, trusted_proxies=NO_PROXIES) as server:
        async with server.client("a") as first, server.client("b") as second:
            status, after, body = await refused(server, "c")
            assert (status, after) == (429, "5")
            assert "2 connections" in body
            assert server.counters.get("admission.limited.connections") == 1
            # A device that comes back takes the place of its older self.
            async with server.client("a") as again:
                assert (await closed(first))[0] == 4001
                await answers(again)
            await answers(second)
            await until(lambda: server.transport.stats()["connected"] == 1)
            assert (await refused(server, "c"))[0] == 101
        await until(lambda: server.transport.stats()["addresses"] == 0)


async def test_connects_of_one_address() -> None:
    limits = Limits(connects_per_address=3)
    began = now()
    async with (
        running(limits=limits, trusted_proxies=NO_PROXIES) as server,
        server.client("a") as client,
    ):
        assert [(await refused(server, str(number)))[0] for number in range(2)] == [101, 101]
        status, after, body = await refused(server, "c")
        assert status == 429
        assert 20 - (now() - began) <= int(after) <= 20
        assert "3 connects a minute" in body
        assert server.counters.get("admission.limited.connects") == 1
        await answers(client)


async def test_a_proxy_is_not_taken_for_its_devices() -> None:
    async with running(limits=Limits(connects_per_address=1)) as server:
        for number in range(5):
            address = f"2001:db8:0:{number}::1"
            assert (await refused(server, "a", X_Forwarded_For=address))[0] == 101
        assert (await refused(server, "a", X_Forwarded_For="2001:db8:0:4::2"))[0] == 429
        assert [(await refused(server, "a"))[0] for _ in range(3)] == [101] * 3
        async with server.client("b", X_Forwarded_For="9.9.9.9, 203.0.113.7"):
            while True:
                session = await server.session()
                if session.connection.device.id == "b":
                    break
            assert session.connection.device.address == "203.0.113.7"
            assert parse_address(session.connection.device.address) is not None


async def test_connects_of_one_device() -> None:
    async with running(limits=Limits(connects_per_device=2)) as server:
        assert [(await refused(server, "a"))[0] for _ in range(3)] == [101, 101, 429]
        assert (await refused(server, "b"))[0] == 101
        assert server.counters.get("admission.limited.device_connects") == 1


async def test_handshakes_without_a_hello(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(limits=Limits(handshakes=2)) as server, server.client("a") as client:
        port = server.transport.port
        async with raw_client(port, "b"), raw_client(port, "c"):
            assert server.transport.stats()["handshakes"] == 2
            status, after, body = await refused(server, "d")
            assert (status, after) == (503, "2")
            assert "try again" in body
            assert server.counters.get("admission.limited.handshakes") == 1
            # The slow ones make room, the oldest first.
            monkeypatch.setattr(handshakes, "SLOW_HANDSHAKE_S", 0.0)
            async with server.client("d") as late:
                await answers(late)
            assert server.counters.get("xiaozhi.limited.slow_handshakes") == 1
        await answers(client)
        await until(lambda: server.transport.stats()["handshakes"] == 0)


async def test_a_refused_connection_that_sends_no_request_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handshakes, "REFUSED_S", 0.1)
    monkeypatch.setattr(handshakes, "MAX_REFUSED", 3)
    limits = Limits(connections_per_address=1)
    async with (
        running(limits=limits, trusted_proxies=NO_PROXIES) as server,
        server.client("a") as client,
    ):
        port = server.transport.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(BOUND_S):
            await _end(reader)
        writer.close()
        assert server.counters.get("admission.limited.connections") == 0

        # Three may wait for long, the others are ended at once.
        monkeypatch.setattr(handshakes, "REFUSED_S", 2 * BOUND_S)
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(6)]
        ends = [asyncio.ensure_future(_end(reader)) for reader, _ in silent]
        await until(lambda: sum(end.done() for end in ends) == 3)
        assert server.counters.get("admission.limited.connections") == 3
        for _, writer in silent:
            writer.close()
        await asyncio.gather(*ends)
        await answers(client)


async def _end(reader: asyncio.StreamReader) -> None:
    """Wait until the server ends a connection without a word."""
    try:
        assert await reader.read() == b""
    except ConnectionResetError:
        pass  # an end as well


def work(server: Server, seconds: float, late: float) -> None:
    """Pretend that the loop was ``late`` for some seconds until now, by work of its own."""
    overload = server.admission._overload
    overload.stop()  # no samples but these
    now = time.monotonic()
    for number in range(round(seconds / 0.05)):
        at = now - seconds + number * 0.05
        overload.add(at, late, at)


BUSY = (503, "5", "The server is busy, try again.\n")


async def test_an_overloaded_process_admits_no_device_and_keeps_the_connected() -> None:
    async with running() as server, server.client("a") as client:
        work(server, 20, 0.02)
        stats = server.transport.stats()
        assert (stats["overloaded"], stats["loop_lag_ms"]) == (True, 20.0)
        for device in ("b", "a"):  # known or not
            assert await refused(server, device) == BUSY
        assert server.counters.get("admission.limited.overload") == 2
        await answers(client)
        work(server, 20, 0.0)
        assert (await refused(server, "b"))[0] == 101


@pytest.mark.slow
async def test_after_an_overload_a_crowd_is_admitted_one_by_one() -> None:
    tokens = device_tokens()
    async with running(access=memory_registry(tokens=tokens)) as server:
        headers = {"Authorization": tokens.issue("b", "").text, "Client_Id": ""}
        overload = server.admission._overload
        work(server, 20, 0.02)
        now = time.monotonic()
        for number in range(1, 21 * 20):
            overload.add(now + number * 0.05, 0.0, now)
        assert not server.admission.overloaded
        # Without a token a client cannot take the places of devices that have one.
        assert (await refused(server, "b"))[0] == 401
        assert (await refused(server, "b", **headers))[0] == 101
        assert await refused(server, "b", **headers) == BUSY
        async with asyncio.timeout(BOUND_S):
            while await refused(server, "b", **headers) == BUSY:  # noqa: ASYNC110  nothing tells it
                await asyncio.sleep(0.1)


async def test_while_models_load_a_late_loop_refuses_no_device() -> None:
    async with running() as server:
        admission = server.admission
        admission.loading = True
        work(server, 20, 0.4)
        assert not server.transport.stats()["overloaded"]
        assert (await refused(server, "a"))[0] == 101
        admission.loading = False
        assert not admission.overloaded, "what was late was the loading"
        assert (await refused(server, "a"))[0] == 101


def headers(size: int) -> bytes:
    """Return the beginning of a request, in lines that the library accepts."""
    lines = b"GET /xiaozhi/v1/ HTTP/1.1\r\n" + (b"X: " + b"x" * 500 + b"\r\n") * (size // 500)
    return lines[:size]


@pytest.mark.parametrize("size", [16_500, 18_000, 24_000, 300_000])
async def test_headers_that_are_too_large_get_an_answer(size: int) -> None:
    async with running() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.transport.port)
        writer.write(headers(size))
        async with asyncio.timeout(BOUND_S):
            answer = await reader.read()
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 431 ")
        assert body == b"The headers are too large.\n"
        assert server.counters.get("xiaozhi.limited.head") == 1
        writer.close()
        await until(lambda: server.transport.stats()["handshakes"] == 0)


@pytest.mark.parametrize(
    ("size", "close_timeout"), [(20_000, 0.2), (2 * MAX_DROPPED_BYTES, 600.0)], ids=["time", "size"]
)
async def test_headers_without_end(size: int, close_timeout: float) -> None:
    """A client that does not close when it has the answer is ended."""
    async with running(close_timeout=close_timeout) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.transport.port)
        writer.write(headers(size))
        await until(lambda: server.counters.get("xiaozhi.limited.head") == 1)
        await until(lambda: server.transport.stats()["handshakes"] == 0)
        writer.transport.abort()


async def test_what_follows_a_request_that_was_answered_is_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.transport.port)
        writer.write(b"no HTTP at all\r\n\r\n")
        async with asyncio.timeout(BOUND_S):
            await reader.read()  # the answer, and the end of the server's side
        writer.write(b"x" * 100_000)
        await until(lambda: server.counters.get("xiaozhi.limited.head") == 1)
        writer.close()
        async with server.client("bb") as client:
            await answers(client)
    assert "call failed" not in caplog.text


async def test_a_request_that_does_not_end_is_cut() -> None:
    async with running(timeouts=Timeouts(hello=0.2)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.transport.port)
        writer.write(b"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: h\r\n")
        assert await asyncio.wait_for(reader.read(), BOUND_S) == b""
        writer.close()
        await until(lambda: server.transport.stats()["handshakes"] == 0)


# ── once inside ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
async def test_too_much_audio_is_dropped_then_closed() -> None:
    async with (
        running(limits=Limits(audio_burst=1.0)) as server,
        server.client("a") as client,
        server.client("b") as other,
    ):
        session = await server.session()
        packets = opus_packets(6.0)
        for packet in packets[:20]:  # one second's worth, at 1.25 times real time
            await client.send(packet)
        for _ in range(20):
            assert isinstance(await session.next(), AudioIn)
        for packet in packets[20:]:
            await client.send(packet)
        assert await closed(client) == (1008, "too much audio")
        await session.wait_ended()
        assert session.chunks.qsize() <= 5
        assert 20 <= server.counters.get("xiaozhi.limited.too_much_audio") <= 25
        assert server.counters.get("xiaozhi.closed.too_much") == 1
        await answers(other)


async def test_a_burst_after_a_stall_is_taken_completely() -> None:
    async with running() as server, server.client("a") as client:
        session = await server.session()
        packets = opus_packets(20.0)
        for packet in packets:
            await client.send(packet)
        for _ in packets:
            assert isinstance(await session.next(), AudioIn)
        assert server.counters.snapshot() == {"xiaozhi.connections": 1}


@pytest.mark.slow
async def test_too_many_messages_are_dropped_then_closed() -> None:
    limits = Limits(messages_per_second=10, message_burst=1)
    async with running(limits=limits) as server, server.client("a") as client:
        for _ in range(40):
            await client.send(PING)
        assert await closed(client) == (1008, "too many messages")
        assert 10 <= server.counters.get("xiaozhi.limited.too_many_messages") <= 12


@pytest.mark.slow
async def test_a_flood_before_the_hello_is_closed_too() -> None:
    limits = Limits(messages_per_second=10, message_burst=1)
    async with running(limits=limits) as server, raw_client(server.transport.port) as client:
        for _ in range(40):
            await client.send(0x9, b"")
        code = int.from_bytes((await client.read_until(0x8))[:2], "big")
        assert code == 1008
        await until(lambda: not server.admission.admitted)
        assert server.sessions.empty()


@pytest.mark.slow
async def test_too_many_messages_that_mean_nothing_are_closed() -> None:
    async with (
        running(limits=Limits(bad_messages=20)) as server,
        server.client("a") as client,
        server.client("b") as harmless,
    ):
        for _ in range(25):
            await harmless.send(json.dumps({"type": "iot"}))
            await client.send("nonsense")
        assert await closed(client) == (1008, "too many malformed messages")
        assert server.counters.get("xiaozhi.limited.bad_messages") == 1
        await answers(harmless)


async def test_pieces_without_end_are_closed() -> None:
    async with running() as server, raw_client(server.transport.port) as client:
        await client.hello()
        await client.send(TEXT, b"a", final=False)
        for _ in range(250):
            await client.send(0x0, b"", final=False)
        payload = await client.read_until(0x8)
        assert payload[2:].decode() == "too many fragments"


async def test_limits_that_are_off_let_everything_through() -> None:
    off = Limits(**dict.fromkeys(Limits.__dataclass_fields__, 0))
    async with running(limits=off, trusted_proxies=NO_PROXIES) as server:
        async with raw_client(server.transport.port) as client:
            await client.hello()
            for _ in range(1_500):
                await client.send(BINARY, b"\x58")
                await client.send(TEXT, b"[]")
            await client.send(TEXT, PING.encode())
            assert json.loads(await client.read_until(TEXT))["type"] == "pong"
        assert not [name for name in server.counters.snapshot() if ".limited." in name]
