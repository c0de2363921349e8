"""The time that the firmware takes from `tts start` until it plays audio."""

from __future__ import annotations

import pytest
from scripted_server import ScriptedServer, tone_packets

from firmware_test_client import DeviceConfig, SimulatedDevice
from firmware_test_client.framing import AudioPacket

LONG_MS = 200.0


async def test_audio_behind_tts_start_is_lost_until_the_device_speaks(
    server: ScriptedServer,
) -> None:
    async with SimulatedDevice(server.device(speaking_delay_ms=LONG_MS)) as device:
        await server.talk.send({"type": "tts", "state": "start"})
        await server.talk.audio(tone_packets(2))
        await device.wait_for_state("speaking")
        await server.talk.audio(tone_packets(8))
        await server.talk.send({"type": "tts", "state": "stop"})
        reply = await device.wait_for_reply(after=0)
        assert (reply.too_early, reply.too_early_ms) == (2, 120.0)
        assert (reply.clipped_ms, reply.played) == (120.0, 8)
        assert device.counters.audio_before_speaking == 2
        assert device.counters.audio_outside_speaking == 2


async def test_the_delay_is_as_configured(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device(speaking_delay_ms=LONG_MS)) as device:
        await server.talk.send({"type": "tts", "state": "start"})
        start = await device.wait_for_frame("tts")
        await device.wait_for_state("speaking")
        assert device.now - start.time >= LONG_MS / 1000
        assert device.replies[0].tts_start == start.time


async def test_messages_behind_tts_start_are_handled_in_order(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device(speaking_delay_ms=LONG_MS)) as device:
        await server.talk.send({"type": "tts", "state": "start"})
        await server.talk.send({"type": "tts", "state": "sentence_start", "text": "Yes."})
        await server.talk.send({"type": "tts", "state": "stop"})
        reply = await device.wait_for_reply(after=0)
        assert reply.text == "Yes."
        await device.wait_for_state("listening")


async def test_it_tells_whether_what_it_received_has_taken_effect(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device(speaking_delay_ms=LONG_MS)) as device:
        await server.talk.send({"type": "tts", "state": "start"})
        await server.talk.send({"type": "tts", "state": "stop"})
        await device.wait_for_frame("tts", where=lambda frame: "stop" in str(frame))
        assert (device.caught_up, device.replies) == (False, [])
        await device.wait_for(lambda: device.caught_up, what="the reply's end")
        assert [reply.ended for reply in device.replies] == [True]


async def test_a_late_event_loop_does_not_make_the_device_late(server: ScriptedServer) -> None:
    """The clock decides what is due, not the order in which the loop runs callbacks."""
    async with SimulatedDevice(server.device(speaking_delay_ms=LONG_MS)) as device:
        await server.talk.send({"type": "tts", "state": "start"})
        await device.wait_for_frame("tts")
        packet = AudioPacket(tone_packets(1)[0])
        device._app.on_audio(packet, device.now + LONG_MS / 1000)
        assert device.state == "speaking"
        assert device.replies[0].frames == 1


@pytest.mark.parametrize("delay", [-1, 10_001])
def test_a_delay_out_of_range_is_refused(delay: int) -> None:
    with pytest.raises(ValueError, match="speaking_delay_ms"):
        DeviceConfig(ws_url="ws://127.0.0.1:9/", speaking_delay_ms=delay)
