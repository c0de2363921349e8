"""What each misbehaviour sends."""

from __future__ import annotations

import asyncio
import math
from typing import Literal

import opuslib
import pytest
from scripted_server import ScriptedServer, tone_packets

from firmware_test_client import (
    ConnectError,
    DeviceConfig,
    DeviceTimeout,
    Disconnected,
    HelloError,
    Misbehaviour,
    SimulatedDevice,
)
from firmware_test_client.framing import FramingError, unpack


def device_for(
    server: ScriptedServer, *, hello_timeout: float = 30.0, **faults: object
) -> SimulatedDevice:
    misbehaviour = Misbehaviour(**faults)  # type: ignore[arg-type]  # keywords come from the test
    return SimulatedDevice(server.device(hello_timeout=hello_timeout, misbehaviour=misbehaviour))


async def test_no_hello_sends_nothing(server: ScriptedServer) -> None:
    async with device_for(server, hello="none") as device:
        talk = await server.accepted()
        await device.ping()
        assert device.connected
        assert talk.texts == []
        assert talk.binaries == []


@pytest.mark.parametrize("fault", ["wrong_text", "wrong_binary"])
async def test_wrong_first_frame(
    server: ScriptedServer, fault: Literal["wrong_text", "wrong_binary"]
) -> None:
    async with device_for(server, hello=fault):
        talk = await server.accepted()
        await talk.until(lambda: talk.texts or talk.binaries)
        assert talk.bodies("hello") == []
        assert len(talk.bodies("listen")) == (fault == "wrong_text")
        assert len(talk.binaries) == (fault == "wrong_binary")


async def test_hello_twice_and_again(server: ScriptedServer) -> None:
    async with device_for(server, hello="twice") as device:
        await server.talk.until(lambda: len(server.talk.bodies("hello")) == 2)
        device.misdeeds.hello_again()
        await server.talk.until(lambda: len(server.talk.bodies("hello")) == 3)


async def test_hello_body_replaces_and_removes(server: ScriptedServer) -> None:
    body = {"audio_params": {"format": "pcm"}, "features": None, "version": "one"}
    async with device_for(server, hello_body=body):
        hello = server.talk.bodies("hello")[0]
        assert hello == {
            "type": "hello",
            "version": "one",
            "transport": "websocket",
            "audio_params": {"format": "pcm"},
        }


async def test_server_hello_without_transport_is_refused(server: ScriptedServer) -> None:
    server.hello = {"type": "hello", "session_id": "s1"}
    device = device_for(server, hello_timeout=2.0)
    with pytest.raises(HelloError, match=r"no server hello within 2 s"):
        await device.start()
    assert device.violations == ["hello with transport None"]
    assert device.state == "idle"


async def test_silent_server_and_closing_server(server: ScriptedServer) -> None:
    server.hello = None
    with pytest.raises(HelloError):
        await device_for(server, hello_timeout=0.3).start()

    async def close(talk: object, body: dict[str, object]) -> None:
        await server.talk.connection.close(1008, "no")

    server.on_json = close
    with pytest.raises(HelloError, match="closed before the hello: 1008 no"):
        await device_for(server).start()


async def test_no_server() -> None:
    device = SimulatedDevice(DeviceConfig(ws_url="ws://127.0.0.1:9/", hello_timeout=1))
    with pytest.raises(ConnectError, match="cannot connect to ws://127"):
        await device.start()


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_garbage_opus_is_framed_correctly_and_cannot_be_decoded(
    server: ScriptedServer, version: Literal[1, 2, 3]
) -> None:
    config = server.device(version=version, mode="manual")
    async with SimulatedDevice(config) as device:
        device.misdeeds.garbage_opus(5)
        await server.talk.until(lambda: len(server.talk.binaries) == 5)
        for _, data in server.talk.binaries:
            payload = unpack(version, data).payload
            with pytest.raises(opuslib.OpusError):
                opuslib.Decoder(16000, 1).decode(payload, 960)


@pytest.mark.parametrize("version", [2, 3])
async def test_wrong_sizes(server: ScriptedServer, version: Literal[2, 3]) -> None:
    config = server.device(version=version, mode="manual")
    async with SimulatedDevice(config) as device:
        device.misdeeds.wrong_size_frames(3)
        await server.talk.until(lambda: len(server.talk.binaries) == 3)
        for _, data in server.talk.binaries:
            with pytest.raises(FramingError):
                unpack(version, data)


async def test_stray_audio_outside_listening(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device(mode="manual")) as device:
        device.misdeeds.stray_audio(4)
        await server.talk.until(lambda: len(server.talk.binaries) == 4)
        assert server.talk.bodies("listen") == []


async def test_stall_then_burst(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        talk = server.talk
        await talk.until(lambda: len(talk.binaries) >= 2)
        device.misdeeds.stall_uplink()
        await device.ping()  # everything sent so far has arrived
        before = len(talk.binaries)
        await asyncio.sleep(0.5)
        assert len(talk.binaries) == before
        device.misdeeds.release_uplink()
        await device.flush()
        await device.ping()
        assert len(talk.binaries) >= before + 7  # at once, not at the pace of speech


async def test_listen_start_twice(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        device.misdeeds.listen_start_again()
        await server.talk.until(lambda: len(server.talk.bodies("listen", "start")) == 2)


async def test_never_reading_fills_the_server_s_writes(server: ScriptedServer) -> None:
    async with device_for(server, never_read=True) as device:
        talk = server.talk

        async def write_for_ever() -> None:
            while True:
                await talk.connection.send("x" * 100_000)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(write_for_ever(), 0.5)
        assert device.counters.text_in == 1


async def test_reading_can_be_resumed(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        device.misdeeds.stop_reading()
        await server.talk.send({"type": "stt", "text": "late"})
        with pytest.raises(DeviceTimeout, match=r"waited 0\.1 s for the text"):
            await device.wait_for(lambda: device.stt_texts, what="the text", timeout=0.1)
        device.misdeeds.resume_reading()
        await device.wait_for(lambda: device.stt_texts == ["late"], what="the text")


async def test_slow_pong_and_no_pong(server: ScriptedServer) -> None:
    async with device_for(server, pong_delay=0.2):
        begin = asyncio.get_running_loop().time()
        await (await server.talk.connection.ping())
        assert asyncio.get_running_loop().time() - begin >= 0.2
    async with device_for(server, pong_delay=math.inf) as device:
        pong = asyncio.ensure_future(await server.talk.connection.ping())
        await device.ping()  # a pong would have been sent before this answer
        assert not pong.done()
    await server.talk.ended.wait()
    pong.exception()  # retrieved: the connection ended without it


@pytest.mark.parametrize("how", ["reset", "fin"])
async def test_disconnecting_without_a_close_frame(
    server: ScriptedServer, how: Literal["reset", "fin"]
) -> None:
    async with SimulatedDevice(server.device()) as device:
        device.disconnect_hard(how)
        async with asyncio.timeout(30):
            await server.talk.ended.wait()
        assert server.talk.close_code == 1006
        assert isinstance(server.talk.lost_by, ConnectionResetError) is (how == "reset")
        close = await device.wait_for_close()
        assert close.code == 1006
        with pytest.raises(Disconnected):
            await device.send_json({"type": "listen", "state": "stop"})


async def test_half_open_sends_nothing_and_detects_nothing(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        talk = server.talk
        await talk.until(lambda: talk.binaries)
        device.disconnect_hard("half_open")
        await asyncio.sleep(0.05)
        count = len(talk.binaries)
        pong = asyncio.ensure_future(await talk.connection.ping())
        await asyncio.sleep(0.2)
        assert len(talk.binaries) == count
        assert not pong.done()
        assert device.connected
    await talk.ended.wait()


async def test_a_dead_connection_is_replaced_when_next_used(server: ScriptedServer) -> None:
    config = server.device(mode="manual", dead_after=0.1)
    async with SimulatedDevice(config) as device:
        alive = [device.channel_open]
        await asyncio.sleep(0.15)
        alive.append(device.channel_open)
        assert alive == [True, False]
        assert device.connected
        await device.toggle()
        assert len(server.conversations) == 2
        assert device.state == "listening"


async def test_what_a_server_must_not_send_is_reported(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device(version=3)) as device:
        talk = server.talk
        await talk.connection.send("no json")
        await talk.send({"type": "novelty"})
        await talk.send({"type": "alert", "status": "a"})
        await talk.send({"type": "llm", "emotion": "hungry"})
        await talk.connection.send(tone_packets(1)[0])  # without the header of version 3
        await talk.send({"type": "alert", "status": "a", "message": "b", "emotion": "sad"})
        await device.wait_for(lambda: device.alerts, what="the alert")
        assert len(device.violations) == 5
        assert device.counters.framing_errors == 1
        assert device.state == "listening"


async def test_reboot_closes_the_channel(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        await server.talk.send({"type": "system", "command": "reboot"})
        await device.wait_for_close()
        assert device.reboots == 1
