"""The server stops, or the client leaves, in the middle of a request, on every kind of route."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
import pytest_asyncio

import firmware_test_client.observed
from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import ApiServer, api_server
from tests.e2e.doubles import WaveformASR
from tests.e2e.event_stream import streaming
from tests.e2e.house import LightHouse
from tests.support.a2a_client import TOKEN, TOKENS
from tests.support.waiting import until
from vixio.providers.vision import Photo, VisionProvider
from vixio.testing import ScriptedAgentBackend, ScriptedTTS
from vixio.web.api.scopes import Scope
from vixio.web.http import guard
from vixio.web.http.vision_offer import VISION_PATH

DEVICE = "02:00:00:00:00:42"
BOUND_S = 30.0
FORM = {"Content-Type": "multipart/form-data; boundary=B"}
PHOTO = b"\xff\xd8\xff\xe0" + bytes(200) + b"\xff\xd9"
PICTURE = b'--B\r\nContent-Disposition: form-data; name="file"\r\n\r\n' + PHOTO + b"\r\n--B--\r\n"
JSON = {"Content-Type": "application/json"}
SENDS = b'{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}}'


class Thinking(VisionProvider):
    """Thinks for ever, unless it is ``quick``."""

    name = "thinking"

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.quick = False

    async def start(self) -> None:
        pass

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        self.asked.set()
        if not self.quick:
            await asyncio.Event().wait()
        return "A lamp."

    async def close(self) -> None:
        pass


class Served:
    """A server with all that takes bodies, and a device."""

    def __init__(self, api: ApiServer, device: SimulatedDevice, vision: Thinking) -> None:
        self.api = api
        self.app = api.server.app
        self.device = device
        self.vision = vision
        assert self.app.http is not None
        self.port = self.app.http.port

    @asynccontextmanager
    async def asking(
        self, path: str, headers: dict[str, str], body: bytes
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Send a request up to the middle of its body; the route reads it already."""
        async with half_sent(self.port, path, headers, body) as streams:
            yield streams

    async def stop(self) -> None:
        """Stop it, well before any other limit of HTTP is reached."""
        async with asyncio.timeout(BOUND_S):
            await self.app.stop()


@asynccontextmanager
async def half_sent(
    port: int, path: str, headers: dict[str, str], body: bytes
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Send a request up to the middle of its body, when the server says that it reads it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    fields = {"Host": "127.0.0.1", "Content-Length": str(len(body)), "Expect": "100-continue"}
    head = "".join(f"{name}: {value}\r\n" for name, value in (fields | headers).items())
    writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode())
    try:
        async with asyncio.timeout(BOUND_S):
            assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
            writer.write(body[: len(body) // 2])
            await writer.drain()
        yield reader, writer
    finally:
        writer.close()


Request = tuple[str, dict[str, str], bytes]


async def ota(served: Served) -> Request:
    return "/xiaozhi/ota/", {"Device-Id": DEVICE, "Client-Id": "c"}, b'{"version": 2}'


async def activation(served: Served) -> Request:
    return "/xiaozhi/ota/activate", {"Device-Id": DEVICE, "Client-Id": "c"}, b'{"Payload": {}}'


async def photo(served: Served) -> Request:
    assert served.device.mcp.vision is not None
    token = {"Authorization": f"Bearer {served.device.mcp.vision.token}", "Device-Id": DEVICE}
    return VISION_PATH, {**FORM, **token}, PICTURE


async def photo_of_a_stranger(served: Served) -> Request:
    return VISION_PATH, {**FORM, "Authorization": "Bearer x", "Device-Id": DEVICE}, PICTURE


async def screen(served: Served) -> Request:
    asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def post_screen(url: str, image: bytes, timeout: float) -> bool:
        asked.set_result(url)
        return True

    async def ask() -> None:
        url = f"{served.api.server.http_url}/api/v1/devices/{DEVICE}/screen"
        token = await served.api.token(Scope.USER_TOOLS)
        async with served.api.http.get(url, headers={"Authorization": f"Bearer {token}"}):
            pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(firmware_test_client.observed, "post_screen", post_screen)
        asking = asyncio.create_task(ask())
        async with asyncio.timeout(BOUND_S):
            url = await asked
    asking.cancel()  # its request is still there: a client that is gone
    return "/" + url.split("/", 3)[3], FORM, PICTURE


async def api(served: Served) -> Request:
    token = await served.api.token(Scope.CONTROL)
    headers = {**JSON, "Authorization": f"Bearer {token}"}
    return f"/api/v1/devices/{DEVICE}/say", headers, b'{"text": "the tea is ready"}'


async def firmware(served: Served) -> Request:
    token = await served.api.token(Scope.FIRMWARE)
    headers = {"Content-Type": "application/octet-stream", "Authorization": f"Bearer {token}"}
    return "/api/v1/firmware/images", headers, bytes(100_000)


async def a2a(served: Served) -> Request:
    return "/a2a", {**JSON, "Authorization": f"Bearer {TOKEN}"}, SENDS


async def a2a_rest(served: Served) -> Request:
    return "/a2a/rest/message:send", {**JSON, "Authorization": f"Bearer {TOKEN}"}, SENDS


ROUTES = (ota, activation, photo, photo_of_a_stranger, screen, api, firmware, a2a, a2a_rest)
Route = Callable[[Served], Coroutine[None, None, Request]]
every_route = pytest.mark.parametrize("route", ROUTES, ids=[each.__name__ for each in ROUTES])


@asynccontextmanager
async def serving(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    """Run a server in which nothing but its end cuts a request off."""
    monkeypatch.setattr(guard, "REQUEST_S", 10 * BOUND_S)
    vision = Thinking()
    made = {
        "asr": WaveformASR({}),
        "agent": ScriptedAgentBackend(),
        "tts": ScriptedTTS(),
        "vision": vision,
    }
    async with (
        api_server(folder, made=made, a2a={"tokens": TOKENS}) as api,
        SimulatedDevice(api.server.device(mode="manual", camera=True, device_id=DEVICE)) as device,
    ):
        assert api.server.app.a2a is not None
        await api.server.app.a2a.loaded()
        await until(lambda: device.mcp.vision is not None, what="the server's greeting")
        yield Served(api, device, vision)


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what an operator would take for a defect."""
    records = [each for each in caplog.records if each.levelno >= logging.ERROR or each.exc_info]
    return [each.getMessage() for each in records]


def cut_off(caplog: pytest.LogCaptureFixture) -> list[int]:
    """Return what the log says of requests cut off."""
    found = [each for each in caplog.records if each.getMessage() == "requests cut off at the end"]
    return [each.__dict__["requests"] for each in found]


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def asking_all(served: Served) -> AsyncIterator[dict[str, tuple[bytes, Streams]]]:
    """Send a request of each route up to the middle; yield the rest of its body and its streams."""
    async with AsyncExitStack() as stack:
        asked: dict[str, tuple[bytes, Streams]] = {}
        for route in ROUTES:
            path, headers, body = await route(served)
            streams = await stack.enter_async_context(served.asking(path, headers, body))
            asked[route.__name__] = (body[len(body) // 2 :], streams)
        yield asked


async def test_requests_that_are_not_whole_in_time_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, monkeypatch) as served:
        async with asking_all(served) as asked:
            await served.stop()
            for route, (_, (reader, _)) in asked.items():
                answer = await asyncio.wait_for(reader.read(), BOUND_S)
                assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n"), route
                assert b"\r\nConnection: close\r\n" in answer, route
                assert b"\r\nRetry-After: 10\r\n" in answer, route
                last = b"\r\n\r\nThe server is stopping, try again.\n"
                assert answer.endswith(last), route
        assert served.api.server.count("http.limited.stopping") == len(ROUTES)
        assert cut_off(caplog) == [len(ROUTES)]
    assert errors(caplog) == []


async def test_requests_that_become_whole_meanwhile_are_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "LAST_S", 10 * BOUND_S)
    monkeypatch.setattr(guard, "STOP_S", 10 * BOUND_S)
    async with serving(tmp_path, monkeypatch) as served:
        served.vision.quick = True
        async with asking_all(served) as asked:
            stopping = asyncio.create_task(served.stop())
            with suppress(ConnectionError):
                while not stopping.done():  # until it listens no more
                    _, other = await asyncio.open_connection("127.0.0.1", served.port)
                    other.close()
            for route, (rest_of_body, (reader, writer)) in asked.items():
                writer.write(rest_of_body)
                answer = await asyncio.wait_for(reader.read(), BOUND_S)
                head, _, rest = answer.partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 "), route
                assert not head.startswith(b"HTTP/1.1 500 "), (route, answer)
                assert f"content-length: {len(rest)}".encode() in head, route
            await stopping
        assert served.api.server.count("http.limited.stopping") == 0
    assert errors(caplog) == []
    assert cut_off(caplog) == []


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def standing(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """A server that outlives the tests that use it."""
    with pytest.MonkeyPatch.context() as patch:
        async with serving(tmp_path_factory.mktemp("standing"), patch) as served:
            await served.api.loaded()
            yield served


@pytest.mark.asyncio(loop_scope="module")
@every_route
@pytest.mark.parametrize("how", ["closes", "resets"])
async def test_a_client_that_leaves_harms_nobody(
    how: str, route: Route, standing: Served, caplog: pytest.LogCaptureFixture
) -> None:
    request = await route(standing)
    async with standing.asking(*request) as (_, writer):
        address = writer.get_extra_info("sockname")
        assert is_connected(standing, address)
        if how == "resets":
            writer.transport.abort()
    await until(lambda: not is_connected(standing, address), what="the end of the connection")
    async with standing.api.http.get(f"{standing.api.server.http_url}/healthz") as answer:
        assert answer.status == 200
    assert errors(caplog) == []


def is_connected(served: Served, address: tuple[str, int]) -> bool:
    """Whether the server still has a connection of this client."""
    http = served.app.http
    assert http is not None
    assert http._server is not None
    connections = http._server.server_state.connections
    return any(
        each.client == address for each in connections if isinstance(each, guard.GuardedProtocol)
    )


async def test_what_is_being_answered_is_given_up_in_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, monkeypatch) as served:
        token = await served.api.token(Scope.DEVICES_READ)
        path, headers, body = await photo(served)
        async with (
            streaming(served.api.http, served.api.server.http_url, token) as stream,
            served.asking(path, headers, body) as (reader, writer),
        ):
            writer.write(body[len(body) // 2 :])
            await asyncio.wait_for(served.vision.asked.wait(), BOUND_S)
            await served.stop()
            await stream.rest()
            answer = await asyncio.wait_for(reader.read(), BOUND_S)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert cut_off(caplog) == [1]
    assert errors(caplog) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
async def test_the_end_of_a_process(number: signal.Signals, tmp_path: Path) -> None:
    house = LightHouse(tmp_path, "", access="open")
    async with house.serving() as server:
        async with (
            half_sent(house.http_port, "/xiaozhi/ota/", {}, SENDS) as (one, _),
            half_sent(house.http_port, "/xiaozhi/ota/activate", {}, SENDS) as (two, _),
            half_sent(house.http_port, "/api/v1/devices/x/say", JSON, SENDS) as (three, _),
        ):
            server.process.send_signal(number)
            for reader in (one, two, three):
                answer = await asyncio.wait_for(reader.read(), BOUND_S)
                assert answer.startswith(b"HTTP/1.1 503 ")
        async with asyncio.timeout(BOUND_S):
            assert await server.process.wait() == 0
        await until(lambda: server.count("server stopped"), what="the last line")
        assert server.count("requests cut off at the end") == 1
