"""The end of the HTTP server while requests are under way, on the loopback interface."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from vixio.core.metrics import Counters
from vixio.transports.admission.admission import Admission
from vixio.web.http import guard
from vixio.web.http.server import HttpServer

BOUND_S = 30.0
HEAD = b" HTTP/1.1\r\nHost: h\r\n"
UPLOAD = b"POST /upload" + HEAD + b"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
CHUNK = b"4000\r\n" + bytes(0x4000) + b"\r\n"
REFUSED = b"HTTP/1.1 503 "


class Application:
    """Routes of the kinds that a stop can meet."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def upload(self, request: Request) -> Response:
        size = 0
        async for piece in request.stream():
            size += len(piece)
        return PlainTextResponse(str(size))

    async def think(self, request: Request) -> Response:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        raise AssertionError

    async def tell(self, request: Request) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            try:
                yield b"once upon a time"
                self.begun.set()
                await asyncio.Event().wait()
            finally:
                self.ended.set()

        return StreamingResponse(pieces())

    async def refuse(self, request: Request) -> Response:
        self.begun.set()
        return PlainTextResponse("no\n", 404)

    def routes(self) -> list[Route]:
        return [
            Route("/upload", self.upload, methods=["POST"]),
            Route("/think", self.think),
            Route("/tell", self.tell),
            Route("/refuse", self.refuse, methods=["POST"]),
        ]


class Served:
    """A server, and what an operator sees of it."""

    def __init__(self, server: HttpServer, counters: Counters, app: Application) -> None:
        self.server = server
        self.counters = counters
        self.app = app

    @asynccontextmanager
    async def client(
        self, sent: bytes
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            writer.write(sent)
            yield reader, writer
        finally:
            writer.close()

    async def begun(self) -> None:
        await asyncio.wait_for(self.app.begun.wait(), BOUND_S)

    async def stop(self) -> None:
        await asyncio.wait_for(self.server.stop(), BOUND_S)

    @property
    def cut_off(self) -> int:
        return self.counters.get("http.limited.stopping")


@pytest.fixture
async def served(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Served]:
    """A server that only its end cuts requests off, and that has no defect by its log."""
    monkeypatch.setattr(guard, "REQUEST_S", 10 * BOUND_S)
    monkeypatch.setattr(guard, "STOP_S", 0.5)
    counters, app = Counters(), Application()
    admission = Admission(counters=counters)
    server = HttpServer(Starlette(routes=app.routes()), "127.0.0.1", 0, admission=admission)
    await server.start()
    made = Served(server, counters, app)
    try:
        yield made
    finally:
        await made.stop()
    records = [*caplog.get_records("call"), *caplog.get_records("teardown")]
    assert [each for each in records if each.levelno >= logging.ERROR or each.exc_info] == []


async def read(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.read(), BOUND_S)


async def test_a_client_that_still_sends_gets_the_refusal(served: Served) -> None:
    """A close with bytes unread would be a reset, which can take the refusal with it."""
    async with served.client(UPLOAD) as (reader, writer):
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")

        async def send() -> None:
            while not reader.at_eof():
                writer.write(CHUNK)
                await writer.drain()
                await asyncio.sleep(0.001)

        sending = asyncio.create_task(send())
        stopping = asyncio.create_task(served.stop())
        answer = await read(reader)
        sending.cancel()
        writer.close()
        await stopping
    assert answer.startswith(REFUSED)
    assert served.cut_off == 1


async def test_a_client_that_sends_on_and_on_does_not_hold_it_up(served: Served) -> None:
    async with served.client(UPLOAD) as (reader, writer):
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")

        async def send() -> None:
            while True:
                writer.write(CHUNK)
                await writer.drain()
                await asyncio.sleep(0.001)

        sending = asyncio.create_task(send())
        await served.stop()
        await asyncio.wait([sending], timeout=BOUND_S)
        assert isinstance(sending.exception(), ConnectionError)
    assert served.cut_off == 1


async def test_an_answer_that_takes_too_long_is_a_refusal(served: Served) -> None:
    async with served.client(b"GET /think" + HEAD + b"\r\n") as (reader, _):
        await served.begun()
        await served.stop()
        assert (await read(reader)).startswith(REFUSED)
    assert served.cut_off == 1
    assert served.app.ended.is_set()


async def test_an_answer_without_end_breaks_off(served: Served) -> None:
    async with served.client(b"GET /tell" + HEAD + b"\r\n") as (reader, _):
        await served.begun()
        await served.stop()
        answer = await read(reader)
    assert answer.endswith(b"once upon a time\r\n")  # without the last chunk
    assert served.cut_off == 1
    assert served.app.ended.is_set()


async def test_what_a_client_asked_that_is_gone_is_no_error(served: Served) -> None:
    async with served.client(b"GET /think" + HEAD + b"\r\n"):
        await served.begun()
    await served.stop()
    assert served.app.ended.is_set()
    assert served.cut_off == 0


async def test_half_a_head_is_refused(served: Served) -> None:
    async with served.client(b"GET /refuse" + HEAD) as (reader, _):
        async with served.client(b"POST /refuse" + HEAD + b"Content-Length: 0\r\n\r\n") as (
            other,
            _,
        ):
            await served.begun()  # so the first one's bytes are there as well
            assert b" 404 " in await other.readuntil(b"\r\n\r\n")
        await served.stop()
        assert (await read(reader)).startswith(REFUSED)
    assert served.cut_off == 1


async def test_an_answered_request_gets_no_second_answer(served: Served) -> None:
    sent = b"POST /refuse" + HEAD + b"Content-Length: 1000\r\n\r\nhalf"
    async with served.client(sent) as (reader, _):
        await served.begun()
        head = await reader.readuntil(b"no\n")
        assert head.startswith(b"HTTP/1.1 404 ")
        await served.stop()
        assert await read(reader) == b""
    assert served.cut_off == 0


async def test_an_idle_connection_is_closed_without_a_word(served: Served) -> None:
    async with served.client(b"") as (reader, _):
        sent = b"POST /refuse" + HEAD + b"Content-Length: 0\r\n\r\n"
        async with served.client(sent) as (other, _):
            await other.readuntil(b"no\n")
            await served.stop()
            assert await read(other) == b""
            assert await read(reader) == b""
    assert served.cut_off == 0
