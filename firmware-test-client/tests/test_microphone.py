"""The uplink: DTX, pace, position of the voice, warm-up, shared packets, echo."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import opuslib
import pytest
from scripted_server import ScriptedServer, tone_packets

from firmware_test_client import (
    DeviceConfig,
    LiveSound,
    Pcm,
    SimulatedDevice,
    SpeechError,
    Voice,
)
from firmware_test_client.framing import AudioPacket
from firmware_test_client.live import CUSHION, LONGEST
from firmware_test_client.records import Counters
from firmware_test_client.speech import StreamFormat, Utterance, encoded_speech
from firmware_test_client.uplink import SEND_QUEUE_PACKETS, Uplink


def tone(seconds: float, rate: int = 16_000) -> Pcm:
    time = np.arange(round(seconds * rate)) / rate
    return Pcm((9000 * np.sin(2 * np.pi * 300 * time)).astype("<i2").tobytes(), rate)


def levels(packets: list[bytes], rate: int = 16_000, frame_ms: int = 60) -> list[float]:
    """RMS of each packet as a server's decoder hears it."""
    decoder = opuslib.Decoder(rate, 1)
    return [Pcm(decoder.decode(packet, rate * frame_ms // 1000), rate).rms for packet in packets]


@pytest.mark.parametrize(
    ("frame_ms", "shared"), [(20, False), (40, False), (60, False), (20, True), (60, True)]
)
async def test_silence_is_sent_in_real_time_and_mostly_by_dtx(
    server: ScriptedServer, frame_ms: int, shared: bool
) -> None:
    config = server.device(uplink_frame_ms=frame_ms, share_speech=shared)
    async with SimulatedDevice(config) as device:
        count = 1200 // frame_ms
        await server.talk.until(lambda: len(server.talk.binaries) > count)
        start = device._app.microphone.records_from
        times = [f.time for f in device.frames if f.kind == "binary" and f.direction == "out"]
        # Each packet is sent when it is recorded: none before, and without drift.
        due = [start + (at + 1) * frame_ms / 1000 for at in range(len(times))]
        lateness = [time - deadline for time, deadline in zip(times, due, strict=True)]
        assert min(lateness) > -0.005
        assert min(lateness[-10:]) < 0.3, "a machine that was held up catches up"
        sizes = [len(data) for _, data in server.talk.binaries[400 // frame_ms :]]
        assert sum(size <= 2 for size in sizes) > len(sizes) / 2
        assert max(sizes) > 10  # comfort noise, now and then


@pytest.mark.parametrize("shared", [False, True])
async def test_the_voice_is_where_it_was_said(server: ScriptedServer, shared: bool) -> None:
    config = server.device(share_speech=shared)
    async with SimulatedDevice(config) as device:
        await server.talk.until(lambda: len(server.talk.binaries) >= 3)
        spoken = await device.say(tone(0.6))
        await server.talk.until(lambda: server.talk.binaries[-1][0] > spoken.end + 0.2)
        heard = levels([data for _, data in server.talk.binaries])
        loud = [index for index, level in enumerate(heard) if level > 1000]
        assert 10 <= len(loud) <= 12
        assert loud == list(range(loud[0], loud[-1] + 1))
        # A packet is sent when its last sample is recorded. On a busy machine it may be late, so
        # the most punctual one tells when the others were due.
        punctual = min(at - 0.06 * number for number, (at, _) in enumerate(server.talk.binaries))
        first = punctual + 0.06 * loud[0]
        assert 0.055 <= first - spoken.voice_start < 0.3


async def test_a_late_loop_cuts_nothing_off_what_was_said_before_the_button_was_let_go(
    server: ScriptedServer,
) -> None:
    async with SimulatedDevice(server.device(mode="manual")) as device:
        await device.press()
        await device.say(tone(0.3))
        microphone = device._app.microphone
        due = microphone.records_from + microphone._frame * (microphone._count + 5)
        while device.now < due:
            pass  # the loop is held up, so five frames are overdue
        sent = [frame.type for frame in device.frames if frame.direction == "out"]
        await device.release()
        after = [frame.type for frame in device.frames if frame.direction == "out"][len(sent) :]
        assert after.index("listen") >= 5, "they are sent before the message"
        assert after.index("listen") == len(after) - 1


async def test_speech_while_the_microphone_is_off_is_lost(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        await server.talk.send({"type": "tts", "state": "start"})
        await device.wait_for_state("speaking")
        before = len(server.talk.binaries)
        begin = device.now
        await device.say(tone(0.3))
        assert device.now - begin >= 0.3
        assert len(server.talk.binaries) == before


@pytest.mark.parametrize("rate", [8000, 24000, 48000])
async def test_other_uplink_rates(server: ScriptedServer, rate: int) -> None:
    config = server.device(uplink_rate=rate)
    async with SimulatedDevice(config) as device:
        assert server.talk.bodies("hello")[0]["audio_params"]["sample_rate"] == rate
        spoken = await device.say(tone(0.3))
        assert spoken.utterance.pcm.rate == rate
        await server.talk.until(lambda: len(server.talk.binaries) >= 8)
        assert max(levels([data for _, data in server.talk.binaries], rate)) > 3000


async def test_espeak_voices_differ_and_are_cached(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        fast = await device.say("yes", voice=Voice(speed=300))
        again = await device.say("yes", voice=Voice(speed=300))
        woman = await device.say("yes", voice=Voice(speed=300, variant="f3"))
        assert fast.utterance is again.utterance
        assert fast.utterance.pcm.data != woman.utterance.pcm.data
        assert 0.1 < fast.voice_end - fast.voice_start < 1
        with pytest.raises(SpeechError, match="no voice 'klingon-x'"):
            await device.say("yes", voice=Voice(name="klingon-x"))
        with pytest.raises(SpeechError, match=r"nowhere\.wav"):
            await device.say(Path("nowhere.wav"))


def test_the_send_queue_drops_its_oldest_while_the_main_task_is_busy() -> None:
    sent: list[AudioPacket] = []
    counters = Counters()
    busy = True
    uplink = Uplink(sent.append, lambda: busy, counters)
    for number in range(SEND_QUEUE_PACKETS + 5):
        uplink.push(bytes([number]))
    assert sent == []
    assert counters.uplink_dropped == 5
    uplink.flush()
    assert [packet.payload[0] for packet in sent] == list(range(5, SEND_QUEUE_PACKETS + 5))


def test_time_stamps_are_echoed_unless_more_than_three_wait() -> None:
    sent: list[AudioPacket] = []
    uplink = Uplink(sent.append, lambda: False, Counters())
    for timestamp in (0, 60, 120, 180, 240):
        uplink.played(timestamp)
    for _ in range(5):
        uplink.push(b"x")
    assert [packet.timestamp for packet in sent] == [0, 120, 180, 240, 0]


async def test_server_aec_echoes_the_time_stamps_of_played_frames(server: ScriptedServer) -> None:
    config = server.device(mode="realtime", version=2, server_aec=True)
    async with SimulatedDevice(config) as device:
        assert server.talk.bodies("hello")[0]["features"]["aec"] is True
        await server.talk.until(lambda: server.talk.binaries)
        await server.talk.speak(tone_packets(10))
        await device.wait_for_reply(after=0)
        await asyncio.sleep(0.1)
        echoed = [int.from_bytes(data[8:12], "big") for _, data in server.talk.binaries]
        assert {60, 120, 180, 240, 300} <= set(echoed)
        assert [stamp for stamp in echoed if stamp] == sorted(stamp for stamp in echoed if stamp)


@pytest.mark.parametrize(("echo_db", "heard"), [(None, False), (-6.0, True)])
async def test_the_loudspeaker_reaches_the_microphone(
    server: ScriptedServer, echo_db: float | None, heard: bool
) -> None:
    async with SimulatedDevice(server.device(mode="realtime", echo_db=echo_db)) as device:
        await server.talk.until(lambda: server.talk.binaries)
        await server.talk.speak(tone_packets(10))
        await device.wait_for_reply(after=0)
        sent = len(server.talk.binaries)
        await server.talk.until(lambda: len(server.talk.binaries) > sent + 2)
        loud = [
            level for level in levels([data for _, data in server.talk.binaries]) if level > 500
        ]
        assert bool(loud) == heard
        if heard:
            assert 9 <= len(loud) <= 12  # 600 ms in packets of 60
            reply_level = device.replies[0].heard.rms
            assert sorted(loud)[len(loud) // 2] == pytest.approx(reply_level / 2, rel=0.2)


def test_echo_needs_decoded_audio() -> None:
    with pytest.raises(ValueError, match="echo_db"):
        DeviceConfig(ws_url="ws://127.0.0.1:9/", echo_db=-6.0, decode=False)
    with pytest.raises(ValueError, match="echo_delay_ms"):
        DeviceConfig(ws_url="ws://127.0.0.1:9/", echo_db=-6.0, echo_delay_ms=-1)


def test_a_thousand_voices_are_encoded_once_each() -> None:
    """Devices with words of their own in one process do not drive each other out of the cache."""
    format_ = StreamFormat.of(DeviceConfig(ws_url="ws://none"))
    voices = [
        Utterance(f"device {number}", Pcm(bytes(2 * format_.frame_samples), format_.rate), 0.0, 0.0)
        for number in range(1_000)
    ]
    for voice in voices:
        encoded_speech(voice, format_)
    before = encoded_speech.cache_info().misses
    for voice in voices:
        encoded_speech(voice, format_)
    assert encoded_speech.cache_info().misses == before


async def test_a_user_who_begins_anew_is_not_heard_to_the_end(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        saying = asyncio.create_task(device.say(tone(3.0)))
        await server.talk.until(
            lambda: max(levels([data for _, data in server.talk.binaries]), default=0) > 1000
        )
        device.hush()
        said = device.spoken[-1]
        assert said.utterance.pcm.duration == pytest.approx(said.end - said.start, abs=0.001)
        sent = len(server.talk.binaries)
        await server.talk.until(lambda: len(server.talk.binaries) > sent + 4)
        last = levels([data for _, data in server.talk.binaries])[-2:]
        assert max(last) < 500
        saying.cancel()


async def test_a_real_microphone_and_loudspeaker(server: ScriptedServer) -> None:
    played: list[Pcm] = []
    live = LiveSound()
    device = SimulatedDevice(server.device())
    device.plug_in(microphone=live, loudspeaker=played.append)
    live.feed(tone(0.4).data)  # before it listens: nobody wants to hear it
    async with device:
        await server.talk.until(lambda: len(server.talk.binaries) >= 3)
        assert max(levels([data for _, data in server.talk.binaries])) < 500
        live.feed(tone(0.4).data)
        sent = len(server.talk.binaries)
        await server.talk.until(lambda: len(server.talk.binaries) > sent + 8)
        heard = levels([data for _, data in server.talk.binaries])
        assert 6 <= sum(level > 1000 for level in heard) <= 8, "400 ms in packets of 60"
        await server.talk.speak(tone_packets(5))
        reply = await device.wait_for_reply(after=0)
        assert b"".join(frame.data for frame in played) == reply.heard.data


def test_what_is_recorded_comes_in_whole_frames_and_never_late() -> None:
    live, data = LiveSound(), tone(2.0).data
    live.feed(data[: 2 * CUSHION - 1])
    assert len(live.take(960)) == 0, "half a sample is missing"
    live.feed(data[2 * CUSHION - 1 : 2 * CUSHION])
    assert live.take(960).tobytes() == data[:1920]
    assert live.take(960).tobytes() == data[1920:3840]
    assert len(live.take(960)) == 0, "a gap: it waits again"
    live.feed(data)
    assert live.take(LONGEST).tobytes() == data[-2 * LONGEST :]
    live.feed(data)
    live.clear()
    assert len(live.take(1)) == 0
