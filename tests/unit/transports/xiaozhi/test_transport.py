"""Devices coming and going, over real sockets."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.support import (
    BOUND_S,
    HELLO,
    Server,
    opus_packets,
    receive_json,
    running,
)
from tests.unit.transports.xiaozhi.websocket.raw_client import CLOSE, raw_client
from vixio.core.chunk import AudioIn, ListenMode, ListenStart
from vixio.core.errors import ConfigError, ConnectionClosed
from vixio.core.timeouts import Timeouts
from vixio.core.transport import DeviceConnection
from vixio.transports.admission.admission import AdmissionSettings
from vixio.transports.xiaozhi import transport
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.transport import XiaozhiTransport

START = json.dumps({"type": "listen", "state": "start", "mode": "manual"})


async def closed(client: ClientConnection) -> tuple[int | None, str | None]:
    """Return the close code and reason that a client gets."""
    async with asyncio.timeout(BOUND_S):
        await client.wait_closed()
    return client.close_code, client.close_reason


async def test_the_hello_sets_device_and_format() -> None:
    async with running(output_sample_rate=16_000, output_frame_ms=20) as server:
        hello = {**HELLO, "version": 3, "features": {"aec": True}}
        async with server.client("aa:bb", None) as client:
            await client.send(json.dumps(hello))
            answer = await receive_json(client)
            session = await server.session()
            connection = session.connection
            assert answer == {
                "type": "hello",
                "transport": "websocket",
                "session_id": connection.session_id,
                "audio_params": {
                    "format": "opus",
                    "sample_rate": 16_000,
                    "channels": 1,
                    "frame_duration": 20,
                },
            }
            device = connection.device
            assert (device.id, device.client_id) == ("aa:bb", "client")
            assert device.address == "127.0.0.1"
            assert device.features == {"aec"}
            assert connection.output.sample_rate == 16_000
            assert connection.new_encoder().packet_ms == 20


async def hears_itself(server: Server, **hello: object) -> bool:
    async with server.client("aa:bb", None) as client:
        await client.send(json.dumps({**HELLO, **hello}))
        await receive_json(client)
        return (await server.session()).connection.hears_itself


async def test_what_leaves_echo_cancellation_to_the_server_is_heard_with_a_canceller_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    leaves = {"aec": True}
    raw = {"format": "pcm", "sample_rate": 16_000}
    async with running() as server:
        monkeypatch.setattr(transport, "is_installed", lambda: False)
        assert not await hears_itself(server)
        assert await hears_itself(server, features=leaves)
        assert await hears_itself(server, features=leaves)
        told = [each for each in caplog.records if "echo cancellation" in each.message]
        assert [each.levelname for each in told] == ["WARNING"]
        monkeypatch.setattr(transport, "is_installed", lambda: True)
        assert not await hears_itself(server, features=leaves)
        assert await hears_itself(server, features=leaves, audio_params=raw), "its PCM is not known"


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (START, "missing"),
        ("not json", "missing"),
        ("[]", "missing"),
        (b"binary", "missing"),
        (b"", "missing"),
        (json.dumps({"type": "hello", "audio_params": []}), "audio_params"),
        (json.dumps({**HELLO, "audio_params": {"format": ""}}), "audio_format"),
        (json.dumps({**HELLO, "audio_params": {"format": "mp3"}}), "audio_format"),
        (
            json.dumps({**HELLO, "audio_params": {"format": "opus", "sample_rate": 1}}),
            "sample_rate",
        ),
    ],
)
async def test_a_wrong_beginning_is_closed_with_a_reason(
    first: str | bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running() as server, server.client(hello=None) as client:
        await client.send(first)
        code, text = await closed(client)
        assert code == 1008
        assert text is not None
        assert "hello" in text
        assert server.counters.get(f"xiaozhi.refused.hello.{reason}") == 1
        (line,) = (vars(each) for each in caplog.records if each.levelname == "WARNING")
        assert line["message"] == "connection refused"
        assert (line["reason"], line["address"], line["device"]) == (
            f"hello.{reason}",
            "127.0.0.1",
            "aa:bb",
        )
        assert server.sessions.empty()


async def test_a_silent_beginning_is_closed_with_a_reason() -> None:
    async with running(timeouts=Timeouts(hello=0.1)) as server, server.client(hello=None) as client:
        assert await closed(client) == (1008, "no hello within 0.1 s")
        assert server.counters.get("xiaozhi.refused.hello.timeout") == 1


async def test_a_device_that_leaves_before_its_hello_leaves_nothing() -> None:
    async with running() as server:
        async with server.client(hello=None):
            pass
        async with raw_client(server.transport.port):
            pass  # without a close frame
        await until(lambda: not server.admission.admitted)
        assert server.sessions.empty()
        assert server.counters.snapshot() == {}


async def test_the_same_device_again_replaces_itself() -> None:
    async with running() as server, server.client("aa") as older:
        first = await server.session()
        async with server.client("aa") as newer, server.client("bb"):
            assert await closed(older) == (4001, "replaced by a newer connection")
            await first.wait_ended()
            with pytest.raises(ConnectionClosed, match="replaced"):
                await first.connection.send_speech_stop()
            second = await server.session()
            assert second.connection.session_id != first.connection.session_id
            await newer.send(START)
            assert await second.next() == ListenStart(ListenMode.MANUAL)
            await until(lambda: server.transport.stats()["connected"] == 2)
            assert server.counters.get("xiaozhi.closed.replaced") == 1
            # The older one's leaving has not taken the newer one's place in the register.
            async with server.client("aa"):
                assert (await closed(newer))[0] == 4001


@pytest.mark.slow
async def test_a_replaced_device_that_is_gone_ends_in_a_second() -> None:
    async with running() as server, raw_client(server.transport.port, "aa") as dead:
        await dead.hello()
        first = await server.session()
        async with server.client("aa"):
            await first.wait_ended()
            # The handler has not waited for the socket, whose peer answers no close frame …
            assert server.admission.admitted == 2
            # … and which is aborted.
            await until(lambda: server.admission.admitted == 1)


async def test_a_handler_that_fails_is_closed_1011_and_says_nothing_of_why() -> None:
    async def fail(connection: DeviceConnection) -> None:
        await connection.receive()
        raise ExceptionGroup("tasks", [KeyError("a user's secret")])

    async with running(fail) as server, server.client() as client:
        await client.send(START)
        assert await closed(client) == (1011, "internal error")
        assert server.counters.get("xiaozhi.closed.handler_failed") == 1
        async with server.client("other"):
            assert server.transport.stats()["connected"] == 1


async def test_a_handler_that_returns_closes_1000() -> None:
    async def brief(connection: DeviceConnection) -> None:
        await connection.send_alert("a", "b", "happy")

    async with running(brief) as server, server.client() as client:
        assert (await receive_json(client))["type"] == "alert"
        assert await closed(client) == (1000, "")


async def test_the_stop_tells_all_and_frees_the_port() -> None:
    async with running() as server:
        port = server.transport.port
        async with server.client("aa") as client, server.client("bb", None) as quiet:
            session = await server.session()
            stopping = asyncio.create_task(server.transport.stop())
            assert await closed(client) == (1001, "the server is stopping")
            assert (await closed(quiet))[0] == 1001
            await session.wait_ended()
            await asyncio.wait_for(stopping, BOUND_S)
        with pytest.raises(OSError, match=r"refused|failed"):
            await asyncio.open_connection("127.0.0.1", port)
        await server.transport.stop()
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", port))


@pytest.mark.slow
async def test_the_stop_does_not_wait_for_a_device_that_reads_nothing() -> None:
    blocked = asyncio.Event()

    async def hang(connection: DeviceConnection) -> None:
        blocked.set()
        packet = bytes(4_000)
        while True:
            await connection.send_audio([packet], 0)

    async with running(hang, send_timeout=60.0) as server:
        port = server.transport.port
        spare = await asyncio.open_connection("127.0.0.1", port)  # says nothing, ever
        async with raw_client(port, receive_buffer=4_096) as stuck:
            await stuck.hello()
            await asyncio.wait_for(blocked.wait(), BOUND_S)
            await asyncio.wait_for(server.transport.stop(), BOUND_S)
        spare[1].close()


async def test_the_stop_cancels_a_handler_that_does_not_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vixio.transports.xiaozhi.websocket.carrier.SERVE_GRACE_S", 0.05)
    cancelled = asyncio.Event()

    async def stubborn(connection: DeviceConnection) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with running(stubborn) as server, server.client():
        await server.transport.stop()
        assert cancelled.is_set()


async def test_a_transport_can_start_again() -> None:
    async with running() as server:
        await server.transport.stop()
        await server.transport.start(server.handle)
        async with server.client():
            assert server.transport.stats()["connected"] == 1


async def test_a_taken_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        transport = XiaozhiTransport(XiaozhiSettings(host="127.0.0.1", port=port))
        with pytest.raises(ConfigError, match=rf"port {port} of 127.0.0.1 is in use") as caught:
            await transport.start(lambda connection: asyncio.sleep(0))
        await transport.stop()
    assert "\n" not in str(caught.value)


async def vanish(server: Server, device_id: str) -> None:
    async with raw_client(server.transport.port, device_id) as client:
        await client.hello()
        await client.send(0x2, opus_packets(0.06)[0][:100])


async def test_devices_that_vanish_leave_no_task_and_no_entry() -> None:
    async with running() as server:
        before = asyncio.all_tasks()
        for number in range(10):
            await vanish(server, f"device {number}")
        for _ in range(10):
            session = await server.session()
            await session.wait_ended()
        await until(lambda: asyncio.all_tasks() <= before)
        admission = server.admission
        assert admission.admitted == 0
        assert server.transport.stats()["connected"] == 0
        assert server.counters.get("xiaozhi.connections") == 10


async def test_a_close_frame_is_answered() -> None:
    async with running() as server, raw_client(server.transport.port) as client:
        await client.hello()
        session = await server.session()
        await client.send(CLOSE, b"\x03\xe8")
        await client.read_until(CLOSE)
        await session.wait_ended()


async def test_twenty_devices_each_hear_their_own() -> None:
    async def echo(connection: DeviceConnection) -> None:
        while True:
            chunk = await connection.receive()
            if isinstance(chunk, AudioIn):
                await connection.send_transcript(connection.device.id)

    packet = opus_packets(0.06)[0]

    async def speak(server: Server, device_id: str) -> list[str]:
        async with server.client(device_id) as client:
            heard = []
            for _ in range(10):
                await client.send(packet)
                heard.append((await receive_json(client))["text"])
            return heard

    async with running(echo) as server:
        names = [f"device {number}" for number in range(20)]
        heard = await asyncio.gather(*(speak(server, name) for name in names))
    assert heard == [[name] * 10 for name in names]


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": "x"},
        {"output_sample_rate": 22_050},
        {"output_frame_ms": 30},
        {"opus_complexity": 11},
        {"opus_bitrate": 5},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        XiaozhiSettings(**wrong)


def test_no_connection_at_all_makes_no_sense() -> None:
    with pytest.raises(ConfigError, match="max_connections"):
        AdmissionSettings(max_connections=0)
