"""OTA and activation against a small HTTP server."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from scripted_server import ScriptedServer

from firmware_test_client import DeviceConfig, OtaError, SimulatedDevice
from firmware_test_client.ota import is_newer


class OtaServer(ThreadingHTTPServer):
    """Answers each POST with the next prepared status and body, and records the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, str]] = []
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/xiaozhi/ota/"

    def config(self, **options: Any) -> DeviceConfig:  # noqa: ANN401  keywords of DeviceConfig
        return DeviceConfig(ota_url=self.url, **options)


class _Handler(BaseHTTPRequestHandler):
    server: OtaServer

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = json.loads(self.rfile.read(length))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.path, headers, body))
        status, answer = self.server.answers.pop(0)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def ota() -> Iterator[OtaServer]:
    server = OtaServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def answer(url: str = "ws://127.0.0.1:1/", **more: object) -> tuple[int, str]:
    return 200, json.dumps({"websocket": {"url": url, "token": "abc", "version": 3}} | more)


async def test_boot_connects_as_ota_states(ota: OtaServer, server: ScriptedServer) -> None:
    ota.answers = [answer(server.url)]
    async with SimulatedDevice(ota.config(mode="manual")) as device:
        assert server.talk.headers["authorization"] == "Bearer abc"
        assert server.talk.headers["protocol-version"] == "3"
        assert server.talk.bodies("hello")[0]["version"] == 3
        path, headers, body = ota.requests[0]
        assert path == "/xiaozhi/ota/"
        assert headers["device-id"] == device.config.device_id == body["mac_address"]
        assert headers["client-id"] == device.config.client_id == body["uuid"]
        assert headers["user-agent"] == "simulated-board/2.0.3"
        assert headers["activation-version"] == "1"
        assert "serial-number" not in headers
        assert body["application"]["version"] == "2.0.3"


async def test_sections_are_read_as_the_firmware_reads_them(ota: OtaServer) -> None:
    ota.answers = [
        answer(
            server_time={"timestamp": 1_700_000_000_500, "timezone_offset": 60},
            firmware={"version": "2.1", "url": "http://x/f.bin", "force": 0},
        )
    ]
    device = SimulatedDevice(ota.config())
    result = await device.boot()
    await device.close()
    assert result is not None
    assert result.server_time == 1_700_000_000.5 + 3600
    assert result.upgrade
    assert result.version == 3


@pytest.mark.parametrize(
    ("offered", "newer"),
    [("2.0.3", False), ("2.0.4", True), ("2.0", False), ("2.0.3.1", True), ("1.9.9", False)],
)
def test_versions(offered: str, newer: bool) -> None:
    assert is_newer("2.0.3", offered) is newer


@pytest.mark.parametrize(
    ("prepared", "complaint"),
    [
        ((500, "{}"), "answered HTTP 500"),
        ((200, "<html>"), "invalid JSON"),
        ((200, "[]"), "not an object"),
        ((200, '{"websocket": null}'), "without a websocket url"),
        ((200, '{"firmware": {"version": "v2", "url": "x"}}'), "not made of numbers"),
    ],
)
async def test_useless_answers(ota: OtaServer, prepared: tuple[int, str], complaint: str) -> None:
    ota.answers = [prepared]
    with pytest.raises(OtaError, match=complaint):
        await SimulatedDevice(ota.config()).start()


async def test_unreachable() -> None:
    with pytest.raises(OtaError, match="cannot reach"):
        await SimulatedDevice(DeviceConfig(ota_url="http://127.0.0.1:9/")).start()


async def test_activation_is_polled_and_signed(ota: OtaServer) -> None:
    asked = answer(activation={"code": "123456", "message": "hi", "challenge": "c"})
    ota.answers = [asked, (202, "{}"), (500, "{}"), (200, "{}"), answer()]
    config = ota.config(serial_number="s" * 32, activation_retry=0.01, activation_error_retry=0.01)
    device = SimulatedDevice(config)
    result = await device.boot()
    await device.close()
    assert result is not None
    assert result.activation_tries == [202, 500, 200]
    path, headers, body = ota.requests[1]
    assert path == "/xiaozhi/ota/activate"
    assert headers["activation-version"] == "2"
    assert headers["serial-number"] == "s" * 32
    signature = hmac.new(config.hmac_key, b"c", hashlib.sha256).hexdigest()
    assert body["hmac"] == signature
    assert body["algorithm"] == "hmac-sha256"


async def test_activation_that_never_ends(ota: OtaServer) -> None:
    asked = answer(activation={"code": "123456", "challenge": "c"})
    ota.answers = [asked, *[(202, "{}")] * 10] * 2
    with pytest.raises(OtaError, match="activation not finished"):
        await SimulatedDevice(ota.config(activation_retry=0.001)).start()
    assert len(ota.requests) == 22
