"""States, modes and what happens at `tts stop`, over a real socket."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from scripted_server import Conversation, ScriptedServer, tone_packets, wrap

from firmware_test_client import Disconnected, SimulatedDevice


async def answer_typed(talk: Conversation, body: dict[str, Any]) -> None:
    """Answers `listen detect` with ten frames."""
    if body.get("state") == "detect":
        await talk.send({"type": "stt", "text": body["text"]})
        await talk.send({"type": "llm", "emotion": "happy", "text": "😀"})
        await talk.speak(tone_packets(10))


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_hello_headers_and_audio_both_ways(
    server: ScriptedServer, version: Literal[1, 2, 3]
) -> None:
    server.on_json = answer_typed
    config = server.device(version=version, token="secret", uplink_frame_ms=20)
    async with SimulatedDevice(config) as device:
        talk = server.talk
        reply = await device.type_text("hello")
        assert talk.headers["authorization"] == "Bearer secret"
        assert talk.headers["protocol-version"] == str(version)
        assert talk.headers["device-id"] == config.device_id
        assert talk.headers["client-id"] == config.client_id
        hello = talk.bodies("hello")[0]
        assert hello["version"] == version
        assert hello["transport"] == "websocket"
        assert hello["features"] == {"mcp": True, "glyph_push": False}
        assert hello["audio_params"]["frame_duration"] == 20
        await talk.until(lambda: len(talk.binaries) > 3)
        head = wrap(version, b"")[:4]
        assert all(data.startswith(head[:2]) for _, data in talk.binaries)
        assert device.session_id == "s1"
        assert (reply.stt, reply.text, reply.emotions) == ("hello", "Yes.", ["happy"])
        assert reply.heard.duration == pytest.approx(0.6)
        assert reply.heard.rms > 3000
        assert device.violations == []


async def test_auto_listens_again_by_itself_after_playout(server: ScriptedServer) -> None:
    played = asyncio.Event()

    async def speak(talk: Conversation, body: dict[str, Any]) -> None:
        # Sent together and stopped when they are heard: the device shares this loop.
        if body.get("state") == "detect":
            await talk.send({"type": "tts", "state": "start"})
            await talk.audio(tone_packets(10))
            await played.wait()
            await talk.send({"type": "tts", "state": "stop"})

    server.on_json = speak
    async with SimulatedDevice(server.device()) as device:
        assert device.state == "listening"
        asked = asyncio.ensure_future(device.type_text("hello"))
        await device.wait_for(
            lambda: device.replies and device.replies[0].played == 10, what="ten frames"
        )
        assert len(server.talk.bodies("listen", "start")) == 1
        played.set()
        reply = await asked
        await server.talk.until(lambda: len(server.talk.bodies("listen", "start")) == 2)
        # Frames that are late or missed: test_playout.py, by a clock that no other work delays.
        assert (reply.played, reply.clipped_ms) == (10, 0)
        assert reply.stop_lag_ms is not None
        assert reply.stop_lag_ms >= 0
        assert reply.playout_end is not None
        again = [frame for frame in device.frames if (frame.body or {}).get("state") == "start"]
        assert again[-1].time >= reply.playout_end


async def early_stop(talk: Conversation, body: dict[str, Any]) -> None:
    """Sends all audio at once, then `tts stop`, then two more packets."""
    if body.get("state") == "detect":
        await talk.send({"type": "tts", "state": "start"})
        await talk.audio(tone_packets(10))
        await talk.send({"type": "tts", "state": "stop"})
        await talk.audio(tone_packets(2))


async def test_early_stop_in_auto_plays_the_rest_then_listens(server: ScriptedServer) -> None:
    server.on_json = early_stop
    async with SimulatedDevice(server.device()) as device:
        reply = await device.type_text("hello")
        assert reply.played == 10
        assert reply.stop_lag_ms is not None
        assert reply.stop_lag_ms < -400
        assert reply.clipped_ms == 2 * 60  # what arrived after the stop
        assert device.counters.audio_outside_speaking == 2
        await server.talk.until(lambda: len(server.talk.bodies("listen", "start")) == 2)
        starts = [frame for frame in device.frames if (frame.body or {}).get("state") == "start"]
        assert reply.playout_end is not None
        assert starts[-1].direction == "out"
        assert starts[-1].time >= reply.playout_end


async def test_flush_on_stop_loses_the_rest_as_other_clients_do(server: ScriptedServer) -> None:
    server.on_json = early_stop
    config = server.device(flush_on_stop=True)
    async with SimulatedDevice(config) as device:
        reply = await device.type_text("hello")
        assert reply.played < 4
        assert reply.clipped_ms >= (10 - reply.played) * 60


async def test_manual_goes_idle_and_plays_on(server: ScriptedServer) -> None:
    server.on_json = early_stop
    async with SimulatedDevice(server.device(mode="manual")) as device:
        assert device.state == "idle"
        reply = await device.type_text("hello")
        assert device.state == "idle"
        assert reply.played == 10
        assert server.talk.bodies("listen", "start") == []


async def test_realtime_keeps_its_microphone_and_does_not_start_again(
    server: ScriptedServer,
) -> None:
    server.on_json = answer_typed
    async with SimulatedDevice(server.device(mode="realtime")) as device:
        await server.talk.until(lambda: server.talk.binaries)
        reply = await device.type_text("hello")
        start, stop = reply.tts_start, reply.tts_stop or 0
        spoken_over = [time for time, _ in server.talk.binaries if start < time < stop]
        assert len(spoken_over) >= 8
        modes = [body["mode"] for body in server.talk.bodies("listen", "start")]
        assert modes == ["realtime"]


async def test_auto_sends_nothing_while_speaking(server: ScriptedServer) -> None:
    server.on_json = answer_typed
    async with SimulatedDevice(server.device()) as device:
        await server.talk.until(lambda: server.talk.binaries)
        reply = await device.type_text("hello")
        start, stop = reply.tts_start, reply.tts_stop or 0
        sent = [f.time for f in device.frames if f.kind == "binary" and f.direction == "out"]
        assert sent
        assert [time for time in sent if start < time < stop] == []


async def test_push_to_talk_brackets_the_speech(server: ScriptedServer) -> None:
    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "stop":
            await talk.speak(tone_packets(3))

    server.on_json = react
    async with SimulatedDevice(server.device(mode="manual")) as device:
        reply = await device.press_to_talk("yes")
        states = [body["state"] for body in server.talk.bodies("listen")]
        assert states == ["start", "stop"]
        assert server.talk.bodies("listen")[0]["mode"] == "manual"
        assert reply.asked == "yes"
        assert reply.response_ms is not None
        assert reply.response_ms > 0
        stop = next(f for f in device.frames if (f.body or {}).get("state") == "stop")
        audio = [f.time for f in device.frames if f.kind == "binary" and f.direction == "out"]
        assert audio
        assert device.spoken[0].voice_end <= max(audio) <= stop.time


async def test_wake_word_from_idle_sends_audio_then_detect_then_start(
    server: ScriptedServer,
) -> None:
    config = server.device(listen_on_connect=False)
    async with SimulatedDevice(config) as device:
        assert device.state == "idle"
        await device.wake("hey vixio")
        await server.talk.until(lambda: server.talk.bodies("listen", "start"))
        out = [frame for frame in device.frames if frame.direction == "out"]
        kinds = [(frame.body or {}).get("state", frame.type) for frame in out]
        detect = kinds.index("detect")
        assert kinds[0] == "hello"
        assert set(kinds[1:detect]) == {"audio"}
        assert detect > 5
        assert kinds[detect + 1] == "start"
        assert device.state == "listening"


async def test_wake_word_while_speaking_leaves_speaking_at_once(server: ScriptedServer) -> None:
    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "detect":
            await talk.send({"type": "tts", "state": "start"})
            await talk.audio(tone_packets(40), pace_ms=60, head=4)

    server.on_json = react
    async with SimulatedDevice(server.device()) as device:
        await device.send_json({"type": "listen", "state": "detect", "text": "go on"})
        await device.wait_for_frame("audio")
        await device.wake()
        assert device.state == "listening"
        await device.wait_for(lambda: device.replies[0].ended, what="the rest of the queue")
        await device.wait_for(lambda: device.counters.audio_outside_speaking > 2, what="more audio")
        await server.talk.until(lambda: len(server.talk.bodies("listen", "start")) == 2)
        aborts = server.talk.bodies("abort")
        assert [body.get("reason") for body in aborts] == ["wake_word_detected"]
        assert device.replies[0].aborted


async def test_abort_changes_nothing_until_tts_stop(server: ScriptedServer) -> None:
    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "detect":
            await talk.send({"type": "tts", "state": "start"})
            await talk.audio(tone_packets(4))
        elif body.get("type") == "abort":
            await talk.send({"type": "tts", "state": "stop"})

    server.on_json = react
    async with SimulatedDevice(server.device()) as device:
        await device.send_json({"type": "listen", "state": "detect", "text": "go on"})
        await device.wait_for_frame("audio")
        await device.abort()
        assert device.state == "speaking"
        reply = await device.wait_for_reply(after=0)
        assert reply.aborted
        assert device.state == "listening"
        assert "reason" not in server.talk.bodies("abort")[0]


async def test_second_tts_start_does_not_flush(server: ScriptedServer) -> None:
    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "detect":
            await talk.send({"type": "tts", "state": "start"})
            await talk.audio(tone_packets(5))
            await talk.send({"type": "tts", "state": "start"})
            await talk.audio(tone_packets(5))
            await talk.send({"type": "tts", "state": "stop"})

    server.on_json = react
    async with SimulatedDevice(server.device()) as device:
        reply = await device.type_text("hello")
        assert reply.played == 10
        assert len(device.replies) == 1


async def test_burst_overflow_is_counted(server: ScriptedServer) -> None:
    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "detect":
            await talk.send({"type": "tts", "state": "start"})
            await talk.audio(tone_packets(600, frame_ms=20))
            await talk.send({"type": "tts", "state": "stop"})

    server.on_json = react
    assert server.hello is not None
    server.hello["audio_params"]["frame_duration"] = 20
    async with SimulatedDevice(server.device()) as device:
        reply = await device.type_text("hello")
        assert reply.frames == 600
        # 43 fit. Some sound meanwhile: 250 would be five seconds, for a burst of an instant.
        assert reply.overflows >= 600 - 43 - 250
        assert reply.overflows == device.counters.overflows
        assert reply.played + reply.overflows == 600


async def test_connection_lost_in_mid_reply(server: ScriptedServer) -> None:
    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "detect":
            await talk.send({"type": "tts", "state": "start"})
            await talk.audio(tone_packets(4))
            await talk.connection.close(4001, "enough")

    server.on_json = react
    async with SimulatedDevice(server.device()) as device:
        with pytest.raises(Disconnected, match="4001"):
            await device.type_text("hello")
        close = await device.wait_for_close()
        assert (close.code, close.reason) == (4001, "enough")
        assert device.state == "idle"
        assert device.replies[0].cut
        await device.connect()
        assert device.state == "listening"
        assert len(server.conversations) == 2


async def test_ask_speaks_and_waits_for_the_reply(server: ScriptedServer) -> None:
    """The server answers after speech and one DTX packet."""

    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "start" and len(talk.bodies("listen", "start")) == 1:
            await talk.until(lambda: sum(len(data) > 2 for _, data in talk.binaries) > 10)
            await talk.until(lambda: len(talk.binaries[-1][1]) <= 2)
            await talk.send({"type": "stt", "text": "yes please"})
            await talk.speak(tone_packets(5), "Here you are.")

    server.on_json = react
    async with SimulatedDevice(server.device()) as device:
        reply = await device.ask("yes please")
        assert (reply.asked, reply.stt, reply.text) == ("yes please", "yes please", "Here you are.")
        assert reply.stt_at is not None
        assert reply.response_ms is not None
        assert 0 < reply.response_ms < 1500
        assert reply.played_ms == 300
        assert device.listening


async def test_ask_without_a_connection_raises(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        await server.talk.connection.close(1001, "going away")
        await device.wait_for_close()
        with pytest.raises(
            Disconnected, match="no connection while the device should listen: 1001"
        ):
            await device.ask("hello")


async def test_ask_in_manual_mode_is_push_to_talk(server: ScriptedServer) -> None:
    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "stop":
            await talk.speak(tone_packets(3))

    server.on_json = react
    async with SimulatedDevice(server.device(mode="manual")) as device:
        reply = await device.ask("yes")
        assert reply.text == "Yes."
        await device.disconnect()
        await device.press()  # connects again and listens in manual mode
        assert device.mode == "manual"
        assert device.state == "listening"
        assert len(server.conversations) == 2


async def test_pressing_the_button_in_a_reply_aborts_and_listens_at_once(
    server: ScriptedServer,
) -> None:
    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "detect":
            await talk.send({"type": "tts", "state": "start"})
            await talk.audio(tone_packets(20))

    server.on_json = react
    async with SimulatedDevice(server.device(mode="manual")) as device:
        await device.send_json({"type": "listen", "state": "detect", "text": "go on"})
        await device.wait_for(lambda: device.counters.binary_in == 20, what="the audio")
        await device.press()
        assert device.state == "listening"
        reply = await device.wait_for_reply(after=0)
        assert reply.aborted
        assert reply.clipped_ms > 900  # the queue was emptied
        assert [body["type"] for body in server.talk.texts[-2:] if isinstance(body, dict)] == [
            "abort",
            "listen",
        ]


async def test_a_hello_with_an_unsupported_format_is_reported(server: ScriptedServer) -> None:
    assert server.hello is not None
    server.hello["audio_params"]["sample_rate"] = 44100
    server.on_json = answer_typed
    async with SimulatedDevice(server.device()) as device:
        assert device.violations == ["server hello: no Opus decoder for 44100 Hz and 60 ms"]
        reply = await device.type_text("hello")
        assert (reply.played, reply.decode_errors) == (0, 10)


async def test_wake_word_while_speaking_in_realtime_flushes_and_starts_again(
    server: ScriptedServer,
) -> None:
    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "detect":
            await talk.send({"type": "tts", "state": "start"})
            await talk.audio(tone_packets(20))

    server.on_json = react
    async with SimulatedDevice(server.device(mode="realtime")) as device:
        await device.send_json({"type": "listen", "state": "detect", "text": "go on"})
        await device.wait_for(lambda: device.counters.binary_in == 20, what="the audio")
        await device.wake()
        reply = await device.wait_for_reply(after=0)
        assert reply.clipped_ms > 900
        modes = [body["mode"] for body in server.talk.bodies("listen", "start")]
        assert modes == ["realtime", "realtime"]


async def test_a_new_reply_flushes_what_was_left_of_the_old_one(server: ScriptedServer) -> None:
    async def react(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") == "detect":
            await early_stop(talk, body)
            await talk.speak(tone_packets(3), "Now this.")

    server.on_json = react
    async with SimulatedDevice(server.device(mode="manual")) as device:
        await device.send_json({"type": "listen", "state": "detect", "text": "go on"})
        new = await device.wait_for_reply(after=1)
        old = device.replies[0]
        assert old.ended
        assert old.clipped_ms >= 7 * 60
        assert (new.text, new.played, new.clipped_ms) == ("Now this.", 3, 0)
