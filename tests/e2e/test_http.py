"""The HTTP side: what OTA tells a device leads to the server, and the health page counts it."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.request
from typing import Any

from firmware_test_client import SimulatedDevice
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from tests.support.waiting import until
from vixio.testing import ScriptedAgentBackend
from vixio.transports.xiaozhi.websocket.channel import WebSocketChannel


async def get(url: str) -> dict[str, Any]:
    """Return the JSON object at ``url``."""

    def fetch() -> dict[str, Any]:
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310  loopback, http
            assert answer.status == 200
            assert answer.headers["Content-Type"].startswith("application/json")
            page: dict[str, Any] = json.load(answer)
            return page

    return await asyncio.to_thread(fetch)


async def test_the_url_of_ota_works_for_the_device() -> None:
    """It names the host through which the device came, and the device hears its answer there."""
    async with serving(asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server:
        assert (await get(server.ota_url))["websocket"]["url"] == server.ws_url
        by_name = server.ota_url.replace("127.0.0.1", "localhost")
        async with SimulatedDevice(server.device(ota_url=by_name)) as device:
            assert device.ota is not None
            assert device.ota.websocket_url == server.ws_url.replace("127.0.0.1", "localhost")
            assert device.ota.mqtt is None
            reply = await device.type_text("hello")
            assert reply.text == "You said hello."


async def test_a_configured_public_host_is_what_devices_are_told() -> None:
    config = settings(server={"public_host": "voice.example"})
    async with serving(config, asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server:
        told = (await get(server.ota_url))["websocket"]["url"]
        assert told == server.ws_url.replace("127.0.0.1", "voice.example")


async def test_devices_show_the_time_of_the_assistants_time_zone() -> None:
    """Zones without daylight saving time: the date of the test makes no difference."""
    config = settings(assistant={"time_zone": "Asia/Kathmandu"})
    async with serving(config, asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server:
        assert (await get(server.ota_url))["server_time"]["timezone_offset"] == 345
        assistant = config.assistant.model_copy(update={"time_zone": "America/Phoenix"})
        server.app.reload(config.model_copy(update={"assistant": assistant}))
        assert (await get(server.ota_url))["server_time"]["timezone_offset"] == -420


async def test_the_health_page() -> None:
    async with serving(asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server:
        page = await get(f"{server.http_url}/healthz")
        assert page["status"] == "ok"
        assert page["providers"]["vad"] == "silero"
        assert page["sessions"] == page["connected"] == 0
        async with SimulatedDevice(server.device()) as device:
            await device.type_text("hello")
            page = await get(f"{server.http_url}/healthz")
            assert page["sessions"] == page["connected"] == 1
            assert page["counters"]["turn.outcome.answered"] == 1
        await until(lambda: not server.app.host.sessions, what="the session's end")
        page = await get(f"{server.http_url}/healthz")
        assert page["sessions"] == page["connected"] == 0


async def test_small_frames_leave_at_once() -> None:
    """Nagle's algorithm would hold each message behind another for the delayed ACK of 40 ms."""
    async with (
        serving(asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server,
        SimulatedDevice(server.device()),
    ):
        (connection,) = server.app.transport._connections.values()
        assert isinstance(connection._channel, WebSocketChannel)
        raw = connection._channel.tcp.get_extra_info("socket")
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
