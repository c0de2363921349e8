"""The HTTP side through a real server on the loopback interface."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.registry import device_tokens, memory_registry
from vixio.core.clock import now
from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters
from vixio.transports.admission.admission import Admission, AdmissionSettings
from vixio.transports.admission.auth import TokenCheck
from vixio.transports.admission.identity import Identity
from vixio.transports.admission.limits import Limits
from vixio.transports.admission.origin import OriginPolicy
from vixio.web.http import guard as http_guard
from vixio.web.http.app import create_http_app
from vixio.web.http.ota import OtaSettings
from vixio.web.http.routes.ota import MAX_BODY_BYTES
from vixio.web.http.server import HttpServer


class Answer:
    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        pairs = (line.partition(":") for line in lines[1:])
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}

    def json(self) -> dict[str, Any]:
        document = json.loads(self.body)
        assert isinstance(document, dict)
        return document


async def request(
    port: int, path: str, method: str = "GET", body: bytes = b"", **headers: str
) -> Answer:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    fields = {"Host": f"127.0.0.1:{port}", "Connection": "close"}
    if body:
        fields["Content-Length"] = str(len(body))
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    try:
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        async with asyncio.timeout(30):
            return Answer(await reader.read())
    finally:
        writer.close()


@contextlib.asynccontextmanager
async def serving(
    ota: OtaSettings | None = None,
    *,
    counters: Counters | None = None,
    origins: OriginPolicy | None = None,
    **settings: Any,  # noqa: ANN401  the settings' own types
) -> AsyncIterator[int]:
    """Serve with ``settings`` of the admission."""
    admission = Admission(AdmissionSettings(**settings), counters=counters)
    app = create_http_app(
        ota or OtaSettings(), lambda: {"connected": 3}, admission, origins=origins
    )
    server = HttpServer(app, "127.0.0.1", 0, admission=admission)
    await server.start()
    assert server.port != 0
    try:
        yield server.port
    finally:
        await asyncio.wait_for(server.stop(), 30)


INFORMATION = json.dumps({"application": {"version": "1.9.2"}, "board": {"type": "box"}}).encode()


@pytest.mark.parametrize("path", ["/xiaozhi/ota/", "/xiaozhi/ota"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_device_finds_the_server(path: str, method: str) -> None:
    async with serving(OtaSettings(websocket_port=8123)) as port:
        body = INFORMATION if method == "POST" else b""
        answer = await request(port, path, method, body, Device_Id="aa:bb", User_Agent="box/1.9.2")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    answered = answer.json()
    url = "ws://127.0.0.1:8123/xiaozhi/v1/"
    assert answered["websocket"] == {"url": url, "version": 1, "token": "open"}
    assert answered["firmware"] == {"version": "1.9.2", "url": ""}


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b"\xff\xfe", b"[" * 60_000])
async def test_any_body_is_taken(body: bytes) -> None:
    async with serving() as port:
        answer = await request(port, "/xiaozhi/ota/", "POST", body)
    assert answer.status == 200
    assert answer.json()["firmware"]["version"] == "0.0.0"


async def test_a_chunked_body_is_taken() -> None:
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(INFORMATION), INFORMATION)
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /xiaozhi/ota/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n" + chunks
        )
        answer = Answer(await asyncio.wait_for(reader.read(), 30))
        writer.close()
    assert answer.json()["firmware"]["version"] == "1.9.2"


async def test_a_body_without_end_is_refused() -> None:
    async with serving() as port:
        answer = await request(port, "/xiaozhi/ota/", "POST", bytes(MAX_BODY_BYTES + 1))
        assert answer.status == 413
        assert (await request(port, "/xiaozhi/ota/")).status == 200


async def test_a_device_that_hangs_up_in_mid_body_harms_nothing() -> None:
    async with serving() as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /xiaozhi/ota/ HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert (await request(port, "/xiaozhi/ota/")).status == 200


async def test_a_token_is_issued_for_a_stated_device() -> None:
    tokens = device_tokens()
    registry = memory_registry(tokens=tokens)
    async with serving(access=registry) as port:
        known = await request(port, "/xiaozhi/ota/", Device_Id="aa:bb", Client_Id="c")
        unnamed = await request(port, "/xiaozhi/ota/")
    await registry.stop()
    token = known.json()["websocket"]["token"]
    assert tokens.verify(Identity("aa:bb", "c", token))[0] is TokenCheck.VALID
    assert unnamed.json()["websocket"]["token"] == "open", "some clients fail without the key"


@pytest.mark.parametrize("path", ["/xiaozhi/ota/activate", "/xiaozhi/ota/activate/"])
async def test_activation_is_done_at_once(path: str) -> None:
    async with serving() as port:
        assert (await request(port, path, "POST", b"{}")).status == 200


async def test_the_health_page() -> None:
    async with serving() as port:
        await request(port, "/xiaozhi/ota/")
        page = (await request(port, "/healthz")).json()
    assert page["status"] == "ok"
    assert page["version"]
    assert page["connected"] == 3
    assert page["counters"] == {"http.ota": 1}


async def test_other_paths_are_not_found() -> None:
    async with serving() as port:
        assert (await request(port, "/nothing")).status == 404


async def test_the_process_keeps_its_signals() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    async with serving():
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


async def test_a_taken_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = HttpServer(create_http_app(OtaSettings()), "127.0.0.1", port)
        with pytest.raises(ConfigError, match=rf"port {port} of 127.0.0.1 is in use") as caught:
            await server.start()
        await server.stop()
    assert "\n" not in str(caught.value)


async def test_the_port_is_free_after_the_stop() -> None:
    async with serving() as port:
        pass
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", port))


# ── limits ───────────────────────────────────────────────────────────────────────────────────


async def test_ota_requests_of_one_address_are_bounded() -> None:
    counters = Counters()
    limits = Limits(ota_per_address=3)
    async with serving(limits=limits, trusted_proxies=(), counters=counters) as port:
        began = now()
        codes = [(await request(port, "/xiaozhi/ota/")).status for _ in range(3)]
        answer = await request(port, "/xiaozhi/ota/")
        assert [*codes, answer.status] == [200, 200, 200, 429]
        assert 20 - (now() - began) <= int(answer.headers["retry-after"]) <= 20
        assert (await request(port, "/healthz")).status == 200
        # A device that waits for its claim asks often: that takes nothing from the others.
        polled = await request(port, "/xiaozhi/ota/activate", "POST", b"{}")
        assert polled.status == 200
    assert counters.get("http.limited.ota") == 1


async def test_polls_of_activation_of_one_address_are_bounded_too() -> None:
    counters = Counters()
    limits = Limits(activations_per_address=2)
    async with serving(limits=limits, trusted_proxies=(), counters=counters) as port:
        codes = [
            (await request(port, "/xiaozhi/ota/activate", "POST", b"{}")).status for _ in range(3)
        ]
        assert codes == [200, 200, 429]
        assert (await request(port, "/xiaozhi/ota/")).status == 200
    assert counters.get("http.limited.activate") == 1


async def test_ota_behind_a_proxy_counts_its_clients_and_tells_them_its_name() -> None:
    async with serving(limits=Limits(ota_per_address=1)) as port:
        proxied = {
            "Host": "voice.example",
            "X_Forwarded_Proto": "https",
            "X_Forwarded_For": "203.0.113.1",
        }
        first = await request(port, "/xiaozhi/ota/", "GET", b"", **proxied)
        assert first.json()["websocket"]["url"] == "wss://voice.example/xiaozhi/v1/"
        assert (await request(port, "/xiaozhi/ota/", "GET", b"", **proxied)).status == 429
        proxied["X_Forwarded_For"] = "203.0.113.2"
        assert (await request(port, "/xiaozhi/ota/", "GET", b"", **proxied)).status == 200
        assert [(await request(port, "/xiaozhi/ota/")).status for _ in range(3)] == [200] * 3
    async with serving(trusted_proxies=()) as port:
        answered = await request(port, "/xiaozhi/ota/", "GET", b"", **proxied)
        assert answered.json()["websocket"]["url"].startswith("ws://voice.example:")


async def test_http_connections_of_one_address_are_bounded() -> None:
    counters = Counters()
    limits = Limits(connections_per_address=2)
    app = create_http_app(OtaSettings())
    admission = Admission(AdmissionSettings(limits=limits, trusted_proxies=()), counters=counters)
    server = HttpServer(app, "127.0.0.1", 0, admission=admission)
    await server.start()
    try:
        idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        answer = Answer(await asyncio.wait_for(reader.read(), 30))
        assert (answer.status, answer.headers["retry-after"]) == (429, "5")
        assert counters.get("http.limited.connections") == 1
        for _, idle_writer in idle:
            idle_writer.close()
            await idle_writer.wait_closed()
        writer.close()
        async with asyncio.timeout(30):
            while (await request(server.port, "/healthz")).status != 200:
                pass
    finally:
        await asyncio.wait_for(server.stop(), 30)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost:",
        b"POST /xiaozhi/ota/ HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf",
        b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\nGET /hea",
    ],
)
async def test_a_request_that_does_not_end_is_cut(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_guard, "REQUEST_S", 0.2)
    counters = Counters()
    server = HttpServer(
        create_http_app(OtaSettings()), "127.0.0.1", 0, admission=Admission(counters=counters)
    )
    await server.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        async with asyncio.timeout(30):
            with contextlib.suppress(ConnectionResetError):
                await reader.read()
        writer.close()
        assert counters.get("http.limited.slow") == 1
    finally:
        await asyncio.wait_for(server.stop(), 30)


async def test_requests_that_do_not_end_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_guard, "MAX_CONNECTIONS", 8)
    counters = Counters()
    half = b"POST /xiaozhi/ota/ HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf"
    async with serving(counters=counters) as port, contextlib.AsyncExitStack() as stack:
        for _ in range(3 * 8):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            stack.callback(writer.close)
            writer.write(half)
        for _ in range(5):
            assert (await request(port, "/healthz")).status == 200
    assert counters.get("http.limited.gave_way") >= 2 * 8


@pytest.mark.parametrize(
    "lengths",
    [
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
    ],
)
async def test_a_request_with_two_lengths_is_refused(lengths: str) -> None:
    """A proxy may take the one, this server the other, and what follows for the next request."""
    counters = Counters()
    async with serving(counters=counters) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        request_line = "POST /xiaozhi/ota/ HTTP/1.1\r\nHost: h\r\n"
        writer.write(f"{request_line}{lengths}\r\n0\r\n\r\n".encode())
        answer = Answer(await asyncio.wait_for(reader.read(), 30))
        writer.close()
        assert answer.status == 400
        refused = [name for name in counters.snapshot() if name.startswith("http.refused.")]
        assert len(refused) == 1


async def test_an_idle_connection_that_asked_before_is_closed_in_its_time() -> None:
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
            assert b" 200 " in head
            size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            await reader.readexactly(size)
        writer.close()


async def test_broken_requests_are_counted_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    counters = Counters()
    server = HttpServer(
        create_http_app(OtaSettings()), "127.0.0.1", 0, admission=Admission(counters=counters)
    )
    await server.start()
    try:
        for broken in (b"\x16\x03\x01\x02\x00\r\n\r\n", b"nonsense\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(broken)
            assert b" 400 " in await asyncio.wait_for(reader.read(), 30)
            writer.close()
    finally:
        await asyncio.wait_for(server.stop(), 30)
    assert counters.get("http.refused.malformed") == 2
    assert not [record for record in caplog.records if record.levelname != "INFO"]


async def test_headers_without_end_are_refused() -> None:
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n" + (b"X: " + b"x" * 500 + b"\r\n") * 100)
        async with asyncio.timeout(30):
            with contextlib.suppress(ConnectionResetError):
                assert b" 400 " in (await reader.read()).splitlines()[0]
        writer.close()
        assert (await request(port, "/healthz")).status == 200
