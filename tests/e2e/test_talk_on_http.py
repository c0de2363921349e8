"""A device at the HTTP port, as the console's page is one: the WebSocket of the devices' port."""

from __future__ import annotations

import asyncio
import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import MeteredTTS, WaveformASR, recordings
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.waiting import until
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.settings import Settings
from vixio.testing import ScriptedAgentBackend, ScriptedTTS

BOUND_S = 30.0
PHRASE = "good morning"
PCM = {"format": "pcm", "sample_rate": 16_000, "channels": 1, "frame_duration": 60}


def talk_url(server: RunningServer) -> str:
    return f"{server.http_url.replace('http', 'ws')}/xiaozhi/v1/"


def quiet(config: Settings | None = None) -> contextlib.AbstractAsyncContextManager[RunningServer]:
    """Run a server at which no word is spoken."""
    return serving(config, asr=WaveformASR({}), tts=ScriptedTTS(seconds_per_char=0.01))


@contextlib.asynccontextmanager
async def page(
    server: RunningServer, device_id: str = "page", **headers: str
) -> AsyncIterator[ClientConnection]:
    """Connect as a page does: the identity stands in the query, the origin in a header."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    fields.setdefault("Origin", server.http_url)
    url = f"{talk_url(server)}?device-id={device_id}&client-id=page"
    async with connect(url, additional_headers=fields, close_timeout=1) as client:
        yield client


async def greet(client: ClientConnection, audio: dict[str, Any] = PCM) -> dict[str, Any]:
    await client.send(json.dumps({"type": "hello", "version": 1, "audio_params": audio}))
    answer = json.loads(await asyncio.wait_for(client.recv(), BOUND_S))
    assert isinstance(answer, dict)
    return answer


async def closed(client: ClientConnection) -> tuple[int | None, str | None]:
    async with asyncio.timeout(BOUND_S):
        await client.wait_closed()
    return client.close_code, client.close_reason


async def refusal(
    server: RunningServer, path: str = "/xiaozhi/v1/", name: str = "", **headers: str
) -> tuple[int, str]:
    """Return status and text of an upgrade that is refused; 101 if it is not.

    ``name``: under which the server is called, with its port; empty: its address.
    """
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    address = server.http_url.removeprefix("http://")
    host, _, port = address.partition(":")
    url = f"ws://{name or address}{path}?device-id=aa"
    try:
        async with connect(url, additional_headers=fields, host=host, port=int(port)):
            return 101, ""
    except InvalidStatus as refused:
        return refused.response.status_code, (refused.response.body or b"").decode()


@pytest.mark.parametrize("codec", ["opus", "pcm"])
@pytest.mark.parametrize("version", [1, 2, 3])
async def test_a_spoken_conversation(codec: str, version: int) -> None:
    tts = MeteredTTS(EspeakTTSProvider())
    asr = WaveformASR(await recordings([PHRASE]))
    agent = ScriptedAgentBackend(lambda words: [f"You said {words}."])
    async with serving(asr=asr, agent=agent, tts=tts) as server:
        config = server.device(ws_url=talk_url(server), codec=codec, version=version)
        async with SimulatedDevice(config) as device:
            for _ in range(2):
                reply = await device.ask(PHRASE)
                assert (reply.stt, reply.text) == (PHRASE, f"You said {PHRASE}.")
                assert_played_well(reply)
                made = 1000 * tts.seconds[reply.text]
                assert made - 1 <= reply.audio_ms + reply.too_early_ms <= made + 120
            assert asr.heard[-1].score > 0.5
            assert_nothing_wrong(device)
        assert server.app.admission.tracker.addresses == 0
        assert server.count("turn.outcome.answered") == 2
        assert server.count("xiaozhi.ignored.bad_pcm") == 0


async def test_a_reply_in_pcm_is_the_voice_itself() -> None:
    """Ten seconds of it, at 48 kB a second, pass through the send buffers in time."""
    words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    agent = ScriptedAgentBackend(lambda _: [f"{words}, {words}."])
    tts = MeteredTTS(EspeakTTSProvider())
    async with serving(asr=WaveformASR({}), agent=agent, tts=tts) as server:
        config = server.device(ws_url=talk_url(server), codec="pcm", mode="manual")
        async with SimulatedDevice(config) as device:
            reply = await device.type_text("count")
            assert reply.heard.rate == 24_000
            assert reply.heard.duration > 5
            assert abs(reply.heard.duration - sum(tts.seconds.values())) < 0.5
            assert_played_well(reply)
            assert_nothing_wrong(device)


async def test_a_page_follows_the_ota_answer() -> None:
    information = {
        "board": {"type": "browser", "name": "browser"},
        "application": {"name": "vixio-console", "version": "1.2.3"},
    }

    def ask(server: RunningServer, origin: str) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310  of this machine
            server.ota_url,
            json.dumps(information).encode(),
            {
                "Origin": origin,
                "Device-Id": "page",
                "Client-Id": "page",
                "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=BOUND_S) as answer:  # noqa: S310
            body = json.load(answer)
        assert isinstance(body, dict)
        return body

    async with quiet() as server:
        answer = await asyncio.to_thread(ask, server, server.http_url)
        assert answer["websocket"]["url"].endswith("/xiaozhi/v1/")
        assert answer["firmware"] == {"version": "1.2.3", "url": ""}, "none is offered"
        stated = server.app.admission.firmware.get("page")
        assert (stated.board, stated.version) == ("browser", "1.2.3")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            await asyncio.to_thread(ask, server, "http://evil.example")
        async with page(server) as client:
            answer = await greet(client)
            assert answer["audio_params"] == {**PCM, "sample_rate": 24_000}
            session = server.session("page")
            assert session is not None
            assert session.device.board == "browser"


async def test_foreign_pages_and_other_paths_are_refused() -> None:
    async with quiet() as server:
        port = server.http_url.rpartition(":")[2]
        code, text = await refusal(server, Origin="http://evil.example")
        assert code == 403
        assert "server.allowed_origins" in text
        name = f"evil.example:{port}"
        code, text = await refusal(server, name=name, Origin=f"http://{name}")
        assert code == 403
        assert "api.hosts" in text
        assert server.count("xiaozhi.refused.origin") == 1
        assert server.count("xiaozhi.refused.host") == 1
        code, text = await refusal(server, "/console/")
        assert code == 404
        assert "/xiaozhi/v1/" in text
        assert (await refusal(server, name=name))[0] == 101, "no page"
        local = f"localhost:{port}"
        assert (await refusal(server, name=local, Origin=f"http://{local}"))[0] == 101


async def test_a_plain_request_is_told_what_is_missing() -> None:
    def ask(url: str) -> tuple[int, str]:
        try:
            urllib.request.urlopen(url, timeout=BOUND_S)  # noqa: S310  of this machine
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()
        return 200, ""

    async with quiet() as server:
        for path in ("/xiaozhi/v1/", "/xiaozhi/v1"):
            code, text = await asyncio.to_thread(ask, server.http_url + path)
            assert code == 426
            assert "proxy" in text


async def test_behind_a_proxy() -> None:
    """Its clients are counted, and its own name is the page's origin where it is listed."""
    proxied = {"X_Forwarded_For": "203.0.113.7", "X_Forwarded_Host": "voice.example"}
    config = settings(
        api={"hosts": ["voice.example"]}, server={"limits": {"connections_per_address": 1}}
    )
    async with (
        quiet(config) as server,
        page(server, Origin="https://voice.example", **proxied) as client,
    ):
        await greet(client)
        session = server.session("page")
        assert session is not None
        assert session.device.address == "203.0.113.7"
        code, _ = await refusal(server, **proxied)
        assert code == 429
        others = {**proxied, "X_Forwarded_For": "203.0.113.8"}
        assert (await refusal(server, **others))[0] == 101
        assert server.count("admission.limited.connections") == 1
    untrusted = settings(api={"hosts": ["voice.example"]}, server={"trusted_proxies": []})
    async with quiet(untrusted) as server:
        assert (await refusal(server, Origin="https://voice.example", **proxied))[0] == 403


async def test_the_limits_of_the_devices_port_hold() -> None:
    config = settings(
        server={"max_connections": 1, "limits": {"audio_burst": 0.5}}, timeouts={"hello": 0.5}
    )
    async with quiet(config) as server:
        async with page(server, "mute") as client:
            assert await closed(client) == (1008, "no hello within 0.5 s")
        await until(lambda: server.app.admission.admitted == 0, what="room")
        async with page(server, "first") as client:
            await greet(client)
            code, text = await refusal(server)
            assert code == 503
            assert "All 1 connections" in text
            for _ in range(200):
                await client.send(bytes(1_920))
            assert await closed(client) == (1008, "too much audio")
        assert server.count("xiaozhi.closed.too_much") == 1
        await until(lambda: server.app.admission.tracker.addresses == 0, what="the end of all")


@pytest.mark.parametrize("http_first", [False, True])
async def test_the_server_stops_while_a_page_talks(
    http_first: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with quiet() as server, page(server) as client, page(server, "silent") as silent:
        await greet(client)
        http = server.app.http
        assert http is not None
        if http_first:
            await asyncio.wait_for(http.stop(), BOUND_S)
            await client.send(json.dumps({"type": "ping"}))
            pong = json.loads(await asyncio.wait_for(client.recv(), BOUND_S))
            assert pong["type"] == "pong"
        await asyncio.wait_for(server.app.stop(), BOUND_S)
        assert await closed(client) == (1001, "the server is stopping")
        assert (await closed(silent))[0] == 1001
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_page_is_refused_while_devices_are_not_taken() -> None:
    async with quiet() as server:
        await server.app.transport.stop()
        code, text = await refusal(server)
        assert code == 503
        assert "stopping" in text
