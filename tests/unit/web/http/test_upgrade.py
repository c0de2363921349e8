"""WebSockets on the HTTP port: a connection changes its protocol and leaves the HTTP server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.waiting import until
from vixio.core.metrics import Counters
from vixio.transports.admission.admission import STOPPING, Admission, AdmissionSettings
from vixio.transports.admission.limits import Limits
from vixio.transports.admission.refusal import Refusal
from vixio.web.http import guard as http_guard
from vixio.web.http.app import create_http_app
from vixio.web.http.ota import OtaSettings
from vixio.web.http.server import HttpServer
from vixio.web.http.upgrade import Upgrades

ANSWER = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
UPGRADE = b"Host: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nX-A: b\r\n\r\n"
REQUEST = b"GET /talk/?device-id=a HTTP/1.1\r\n" + UPGRADE
BOUND_S = 30.0


class Echo(asyncio.BufferedProtocol):
    """Answers a request with 101 and returns what comes after it."""

    def __init__(self, request: bytes) -> None:
        self.transport: asyncio.Transport
        self.request = request
        self.paused = False
        self.lost: list[Exception | None] = []
        self._buffer = bytearray(64)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.transport.write(ANSWER)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.transport.write(self._buffer[:nbytes])

    def eof_received(self) -> None:
        pass

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)


class Port:
    """A server, and the protocols that it handed connections over to."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  the settings' own types
        self.counters = Counters()
        self.made: list[Echo] = []
        self.refusal: Refusal | None = None
        self.admission = Admission(AdmissionSettings(**settings), counters=self.counters)
        self.http = HttpServer(
            create_http_app(OtaSettings(), admission=self.admission),
            "127.0.0.1",
            0,
            admission=self.admission,
            upgrades=Upgrades({"/talk/": self._make}),
        )

    def _make(self, request: bytes) -> asyncio.BufferedProtocol | Refusal:
        if self.refusal is not None:
            return self.refusal
        self.made.append(Echo(request))
        return self.made[-1]

    @property
    def uvicorns(self) -> int:
        """Connections that uvicorn counts."""
        assert self.http._server is not None
        return len(self.http._server.server_state.connections)

    @contextlib.asynccontextmanager
    async def client(
        self, request: bytes = REQUEST
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.http.port)
        try:
            writer.write(request)
            yield reader, writer
        finally:
            writer.close()

    async def ask(self, request: bytes) -> bytes:
        """Return the whole answer to a request after which the server closes."""
        async with self.client(request) as (reader, _):
            return await asyncio.wait_for(reader.read(), BOUND_S)


@contextlib.asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Port]:  # noqa: ANN401  the settings' own types
    port = Port(**settings)
    await port.http.start()
    try:
        yield port
    finally:
        await asyncio.wait_for(port.http.stop(), BOUND_S)


async def echoes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    async with asyncio.timeout(BOUND_S):
        assert await reader.readexactly(len(data)) == data


async def upgraded(reader: asyncio.StreamReader) -> None:
    assert await asyncio.wait_for(reader.readexactly(len(ANSWER)), BOUND_S) == ANSWER


@pytest.mark.parametrize("path", [b"/talk/", b"/talk"])
async def test_the_protocol_of_the_path_gets_the_request_and_the_connection(path: bytes) -> None:
    async with (
        serving() as port,
        port.client(b"GET " + path + b"?device-id=a HTTP/1.1\r\n" + UPGRADE) as (reader, writer),
    ):
        await upgraded(reader)
        (echo,) = port.made
        lines = echo.request.split(b"\r\n")
        assert lines[0] == b"GET " + path + b"?device-id=a HTTP/1.1"
        assert lines[1:] == [
            b"host: h",
            b"connection: keep-alive, Upgrade",
            b"upgrade: websocket",
            b"x-a: b",
            b"",
            b"",
        ]
        await echoes(reader, writer, b"longer than the buffer of the protocol is, " * 10)
        assert port.uvicorns == 0
        assert port.http._tracker._all == 0
        writer.close()
        await until(lambda: echo.lost == [None], what="the end of the connection")


@pytest.mark.parametrize("path", [b"/", b"/healthz", b"/talk/more", b"http://h/talk/"])
async def test_other_paths_are_refused_with_the_right_one(path: bytes) -> None:
    async with serving() as port:
        answer = await port.ask(b"GET " + path + b" HTTP/1.1\r\n" + UPGRADE)
        assert answer.startswith(b"HTTP/1.1 404 ")
        assert b"/talk/" in answer.partition(b"\r\n\r\n")[2]
        assert port.counters.get("http.refused.upgrade") == 1
        await until(lambda: port.uvicorns == 0, what="the end of the connection")


async def test_what_the_maker_refuses_gets_its_answer() -> None:
    async with serving() as port:
        port.refusal = STOPPING
        answer = await port.ask(REQUEST)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 10" in answer
        assert port.counters.get("http.limited.stopping") == 1


async def test_frames_before_the_answer_are_refused() -> None:
    """They would be parsed in one go, however many they are."""
    async with serving() as port:
        assert (await port.ask(REQUEST + b"\x82\x80abcd")).startswith(b"HTTP/1.1 400 ")
        assert port.counters.get("http.refused.early_frames") == 1
        assert not port.made


async def test_a_server_without_websockets_answers_as_ever() -> None:
    server = HttpServer(create_http_app(OtaSettings()), "127.0.0.1", 0)
    await server.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /talk/ HTTP/1.1\r\n" + UPGRADE)
        line = await asyncio.wait_for(reader.readline(), BOUND_S)
        assert b" 404 " in line
        writer.close()
    finally:
        await asyncio.wait_for(server.stop(), BOUND_S)


async def test_no_timer_of_http_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_guard, "REQUEST_S", 0.1)
    monkeypatch.setattr(http_guard, "KEEP_ALIVE_S", 0)
    loop = asyncio.get_running_loop()
    async with serving() as port:
        # The second begins on a connection that has carried a request, whose timers ran.
        first = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
        async with port.client() as (r1, w1), port.client(first + REQUEST) as (r2, w2):
            await upgraded(r1)
            await asyncio.wait_for(r2.readuntil(ANSWER), BOUND_S)
            later = loop.time() + 0.3
            await until(lambda: loop.time() > later, what="the time of all timers")
            await echoes(r1, w1, b"one")
            await echoes(r2, w2, b"two")
        assert port.counters.get("http.limited.slow") == 0


async def test_they_take_none_of_the_places_of_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_guard, "MAX_CONNECTIONS", 3)
    limits = Limits(connections_per_address=5)
    health = b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    async with serving(limits=limits, trusted_proxies=()) as port, contextlib.AsyncExitStack() as s:
        for _ in range(8):
            reader, _ = await s.enter_async_context(port.client())
            await upgraded(reader)
        assert (await port.ask(health)).startswith(b"HTTP/1.1 200 ")
        for _ in range(3):
            await s.enter_async_context(port.client(b"GET /"))
        assert (await port.ask(health)).startswith(b"HTTP/1.1 200 "), "half a request gives way"
        reader, writer = await s.enter_async_context(port.client())
        await upgraded(reader)
        await echoes(reader, writer, b"and they are not stopped by it")


async def test_an_answer_that_is_not_taken_yet_holds_the_protocol_back() -> None:
    async with serving() as port:
        first = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
        async with port.client(first) as (reader, writer):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), BOUND_S)
            size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            await reader.readexactly(size)
            assert port.http._server is not None
            (connection,) = port.http._server.server_state.connections
            connection.pause_writing()  # as asyncio does above the high-water mark
            writer.write(REQUEST)
            await upgraded(reader)
            assert port.made[0].paused
            await echoes(reader, writer, b"its timer is gone, too")


@pytest.mark.parametrize("http_first", [True, False])
async def test_the_server_stops_before_and_after_them(
    http_first: bool, caplog: pytest.LogCaptureFixture
) -> None:
    port = Port()
    await port.http.start()
    async with port.client() as (reader, writer):
        await upgraded(reader)
        (echo,) = port.made
        if not http_first:
            echo.transport.close()
            await until(lambda: echo.lost == [None], what="the end of the connection")
        await asyncio.wait_for(port.http.stop(), BOUND_S)
        if http_first:
            await echoes(reader, writer, b"it is not the HTTP server's")
            echo.transport.close()
            await until(lambda: echo.lost == [None], what="the end of the connection")
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


async def test_a_client_that_has_left_does_not_disturb_the_stop() -> None:
    async with serving() as port:
        client = socket.create_connection(("127.0.0.1", port.http.port))
        client.sendall(b"GET /")
        await until(lambda: port.uvicorns == 1)
        assert port.http._server is not None
        (connection,) = port.http._server.server_state.connections
        await until(lambda: getattr(connection, "conn").trailing_data[0])  # noqa: B009 - h11's
        client.close()
        connection.shutdown()  # before the loop sees the end: what is written meets a reset
        await until(lambda: port.uvicorns == 0)
