"""Conversations by MQTT and UDP, as the firmware holds them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from mqtt_server import KEY, SSRC, MqttServer, crypt, new_nonce
from scripted_server import tone_packets

from firmware_test_client import (
    ConnectError,
    DeviceConfig,
    HelloError,
    McpFaults,
    Misbehaviour,
    Mqtt,
    SimulatedDevice,
    Tool,
)

TONE = tone_packets(10)


async def test_the_device_connects_and_never_subscribes(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(listen_on_connect=False)) as device:
        link = broker.link
        assert link.connect == {
            "protocol": b"\x00\x04MQTT\x04",
            "flags": 0xC2,  # user name, password, clean session; no will
            "keepalive": 120,
            "fields": ["02:00:00:00:00:01", "uuid", "token"],
        }
        assert (device.state, device.carrier) == ("idle", "mqtt")
        assert (device.online, device.connected, device.session_id) == (True, False, "")
        await device.ping()
        assert [type_ for type_, _, _ in link.packets] == [1, 12]
        assert broker.datagrams == []


async def test_hello_and_audio_both_ways(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()) as device:
        link = broker.link
        await link.until(lambda: link.bodies("listen"))
        assert link.texts[0] == {
            "type": "hello",
            "version": 3,
            "features": {"mcp": True, "glyph_push": False},
            "transport": "udp",
            "audio_params": {
                "format": "opus",
                "sample_rate": 16000,
                "channels": 1,
                "frame_duration": 60,
            },
        }
        assert link.bodies("listen") == [
            {"session_id": "s1", "type": "listen", "state": "start", "mode": "auto"}
        ]
        assert set(link.topics) == {"vixio/up/x"}
        assert [flags for type_, flags, _ in link.packets if type_ == 3] == [0, 0]  # QoS 0
        await broker.until(lambda: len(broker.datagrams) >= 3)
        headers = [header for header, _ in broker.heard()[:3]]
        ssrc = int.from_bytes(SSRC, "big")
        assert [(head[0], head[1], head[3]) for head in headers] == [(1, 0, ssrc)] * 3
        assert [head[2] for head in headers] == [len(data) - 16 for data, _ in broker.datagrams[:3]]
        assert [head[4:] for head in headers] == [(0, 1), (0, 2), (0, 3)]
        speaking = asyncio.create_task(broker.speak(TONE))
        reply = await device.wait_for_reply()
        await speaking
        assert (reply.text, reply.frames, reply.played) == ("Yes.", 10, 10)
        assert reply.heard.rms > 3000
        assert reply.heard.duration == pytest.approx(0.6)
        await device.wait_for(lambda: device.listening, what="the microphone")
        assert len(link.bodies("listen", "start")) == 2
        assert device.violations == []


async def test_only_what_arrives_in_speaking_is_played(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()) as device:
        await broker.audio(TONE[:3])
        await device.wait_for(
            lambda: device.counters.audio_outside_speaking == 3, what="the audio before"
        )
        await broker.speak(TONE[3:])
        assert (await device.wait_for_reply(after=0)).played == 7


async def test_sequences_are_checked_and_nothing_is_put_in_order(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()) as device:
        await broker.until(lambda: broker.datagrams)
        broker.link.publish({"type": "tts", "state": "start"})
        await device.wait_for_state("speaking")
        for sequence in (1, 2, 2, 5, 4, 6):
            broker.send(broker.pack(TONE[0], sequence=sequence))
        broker.send(b"\x02" + broker.pack(TONE[0], sequence=7)[1:])  # another type
        broker.send(broker.pack(TONE[0], sequence=7)[:-1])
        broker.send(bytes(15))
        counters = device.counters
        await device.wait_for(lambda: counters.framing_errors == 3, what="the last")
        assert (counters.udp_stale, counters.udp_gaps) == (2, 2)
        assert device.replies[0].frames == 4
        assert len(device.violations) == 3


async def test_each_hello_begins_new_counters_and_a_new_key(broker: MqttServer) -> None:
    assert broker.hello is not None
    async with SimulatedDevice(broker.device()) as device:
        await broker.until(lambda: len(broker.datagrams) >= 2)
        await broker.audio(TONE[:5])
        await device.wait_for(lambda: device.counters.binary_in == 5, what="audio")
        first = broker.datagrams[0][1]
        await device.disconnect()
        await device.ping()
        assert broker.link.texts[-1] == {"session_id": "s1", "type": "goodbye"}
        key, nonce = b"k" * 16, new_nonce()
        offer = {**broker.hello["udp"], "key": key.hex(), "nonce": nonce.hex()}
        broker.hello = {**broker.hello, "session_id": "s2", "udp": offer}
        await device.toggle()
        await broker.until(lambda: broker.datagrams)
        assert device.session_id == "s2"
        data, address = broker.datagrams[0]
        assert data[:16] == nonce[:2] + data[2:4] + nonce[4:8] + bytes(7) + b"\x01"
        assert address != first
        broker.link.publish({"type": "tts", "state": "start"})
        await device.wait_for_state("speaking")
        header = b"\x01\x01" + len(TONE[0]).to_bytes(2, "big") + bytes(11) + b"\x01"
        broker.send(header + crypt(header, TONE[0], key))
        await device.wait_for(lambda: device.replies[0].frames == 1, what="audio of the new key")
        assert len(broker.connections) == 1
        assert device.counters.decode_errors == 0


async def test_played_timestamps_come_back_with_server_aec(broker: MqttServer) -> None:
    config = broker.device(server_aec=True, mode="realtime")
    async with SimulatedDevice(config) as device:
        assert broker.link.bodies("hello")[0]["features"]["aec"] is True
        await broker.until(lambda: broker.datagrams)
        broker.link.publish({"type": "tts", "state": "start"})
        await device.wait_for_state("speaking")
        await broker.audio(TONE[:4])
        await broker.until(lambda: any(head[4] for head, _ in broker.heard()))
        assert {head[4] for head, _ in broker.heard()} <= {0, 60, 120, 180, 240}


# Goodbyes


async def test_the_servers_goodbye_is_not_answered(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()) as device:
        for body in ({}, {"session_id": "other"}, {"session_id": 1}):
            broker.link.publish({"type": "goodbye"} | body)
        await device.ping()
        assert device.state == "listening"
        broker.link.publish({"type": "goodbye", "session_id": "s1"})
        close = await device.wait_for_close()
        assert close.code == 1000
        assert (device.state, device.online, device.channel_open) == ("idle", True, False)
        await device.ping()
        assert broker.link.bodies("goodbye") == []
        assert device.violations == []


async def test_the_users_words_open_the_channel(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(listen_on_connect=False)) as device:
        spoken = await device.say("hello")
        assert spoken.end <= device.now
        assert device.state == "listening"
        assert len(broker.link.bodies("hello")) == 1
        await device.toggle()
        assert (device.state, device.connected) == ("idle", False)
        await broker.until(lambda: broker.link.bodies("goodbye"))
        asking = asyncio.create_task(device.type_text("again"))
        await broker.until(lambda: broker.link.bodies("listen", "detect"))
        assert len(broker.link.bodies("hello")) == 2
        await broker.speak(TONE)
        assert (await asking).played == 10


async def test_asking_an_idle_device_wakes_it_before_anything_is_said(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(listen_on_connect=False)) as device:
        asking = asyncio.create_task(device.ask("hello"))
        await device.wait_for(lambda: device.listening, what="the microphone")
        assert device.spoken == []
        await device.wait_for(lambda: device.spoken, what="the speech")
        await broker.speak(TONE)
        assert (await asking).played == 10


async def test_push_to_talk(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(mode="manual")) as device:
        assert broker.link.texts == []
        talking = asyncio.create_task(device.press_to_talk("hello"))
        await broker.until(lambda: broker.link.bodies("listen", "stop"))
        await broker.speak(TONE)
        assert (await talking).played == 10
        assert (device.state, device.channel_open) == ("idle", True)
        await device.press()
        await device.ping()
        assert len(broker.link.bodies("hello")) == 1


async def test_the_wake_words_audio_comes_first(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(listen_on_connect=False)) as device:
        await device.wake("hey vixio")
        await device.ping()
        assert [text["type"] for text in broker.link.texts if isinstance(text, dict)] == [
            "hello",
            "listen",
            "listen",
        ]
        detect = broker.link.bodies("listen", "detect")[0]
        assert (detect["session_id"], detect["text"]) == ("s1", "hey vixio")
        await broker.until(lambda: len(broker.datagrams) > 5)


async def test_messages_and_audio_count_as_life_and_pings_do_not(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(dead_after=0.2)) as device:
        await broker.until(lambda: broker.datagrams)

        async def quiet() -> None:
            await device.wait_for(lambda: not device.channel_open, what="the dead channel")

        await quiet()
        await device.ping()
        assert (device.channel_open, device.connected) == (False, True)
        broker.link.publish({"type": "llm", "emotion": "happy"})
        await device.wait_for(lambda: device.channel_open, what="a message")
        await quiet()
        broker.send(broker.pack(TONE[0]))
        await device.wait_for(lambda: device.channel_open, what="audio")
        await quiet()
        broker.send(broker.pack(TONE[0], sequence=1))  # stale
        await device.wait_for(lambda: device.counters.udp_stale, what="the stale packet")
        assert not device.channel_open


# Hellos that are none


@pytest.mark.parametrize(
    "change",
    [
        {"transport": "websocket"},
        {"transport": None},
        {"udp": None},
        {"udp": {"server": "127.0.0.1", "port": 1, "key": KEY.hex(), "nonce": "00"}},
    ],
)
async def test_a_hello_that_is_none(broker: MqttServer, change: dict[str, Any]) -> None:
    assert broker.hello is not None
    broker.hello = broker.hello | change
    device = SimulatedDevice(broker.device(hello_timeout=0.2))
    with pytest.raises(HelloError, match=r"no server hello within 0\.2 s"):
        await device.start()
    assert device.violations
    assert any("Waiting for response timeout" in line for line in device.screen)


async def test_no_hello(broker: MqttServer) -> None:
    broker.hello = None
    device = SimulatedDevice(broker.device(hello_timeout=0.2))
    await device.boot()
    with pytest.raises(HelloError, match="no server hello"):
        await device.connect()
    assert (device.state, device.online) == ("idle", True)
    await device.close()
    assert broker.datagrams == []


async def test_a_hello_without_answer_ends_the_session_before(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(hello_timeout=0.2)) as device:
        await device.disconnect()
        assert device.session_id == "s1"
        broker.hello = None
        with pytest.raises(HelloError):
            await device.connect()
        assert device.session_id == ""


async def test_an_ipv6_address_for_the_audio_is_of_no_use(broker: MqttServer) -> None:
    assert broker.hello is not None
    broker.hello["udp"]["server"] = "::1"
    device = SimulatedDevice(broker.device())
    with pytest.raises(ConnectError, match="no IPv4 address of '::1'"):
        await device.start()


async def test_the_audio_may_go_to_a_host_name(broker: MqttServer) -> None:
    assert broker.hello is not None
    broker.hello["udp"]["server"] = "localhost"
    async with SimulatedDevice(broker.device()):
        await broker.until(lambda: broker.datagrams)


async def test_without_a_topic_nothing_is_sent(broker: MqttServer) -> None:
    device = SimulatedDevice(broker.device(settings={"publish_topic": ""}))
    with pytest.raises(ConnectError, match="publish_topic is empty"):
        await device.start()
    assert broker.link.texts == []


# Without a conversation


async def test_an_idle_device_answers_tools_and_shows_alerts(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(listen_on_connect=False)) as device:
        link = broker.link
        info = await link.request(1, "initialize", {"protocolVersion": "2024-11-05"})
        assert info["result"]["serverInfo"]["name"] == device.config.board
        assert (await link.request(2, "tools/list"))["result"]["tools"]
        volume = {"name": "self.audio_speaker.set_volume", "arguments": {"volume": 30}}
        await link.request(3, "tools/call", volume)
        assert device.volume == 30
        assert link.bodies("mcp")[0]["session_id"] == ""
        device.add_tool(Tool("self.lamp.turn_on", "Turn on the lamp.", (), lambda: True))
        await link.until(lambda: "list_changed" in str(link.texts[-1]))
        link.publish({"type": "alert", "status": "a", "message": "b", "emotion": "sad"})
        await device.wait_for(lambda: device.alerts, what="the alert")
        assert link.bodies("hello") == []
        assert (device.state, device.violations) == ("idle", [])


async def test_an_answer_outlives_the_conversation(broker: MqttServer) -> None:
    slow = Misbehaviour(mcp=McpFaults(delay=0.2))
    async with SimulatedDevice(broker.device(misbehaviour=slow)) as device:
        asking = asyncio.create_task(broker.link.request(1, "tools/list"))
        await device.wait_for_frame("mcp")
        await device.disconnect()
        assert broker.link.bodies("mcp") == []
        assert (await asking)["result"]["tools"]


async def test_speech_without_a_channel_has_no_sound(broker: MqttServer) -> None:
    """Idle to Speaking is a legal transition, but there is no UDP socket."""
    async with SimulatedDevice(broker.device(listen_on_connect=False)) as device:
        broker.link.publish({"type": "tts", "state": "start"})
        await device.wait_for_state("speaking")
        broker.link.publish({"type": "tts", "state": "stop"})
        await device.wait_for_state("listening")
        assert broker.link.bodies("listen")[0]["session_id"] == ""
        assert broker.datagrams == []


async def test_a_reboot_says_goodbye_and_connects_again(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()) as device:
        first = broker.link
        first.publish({"type": "system", "command": "reboot"})
        await device.wait_for_boot(2)
        assert [type_ for type_, _, _ in first.packets][-1] == 14
        assert first.bodies("goodbye")
        assert (device.state, device.online, device.reboots) == ("idle", True, 1)
        assert broker.link.texts == []
        assert len(broker.connections) == 2


async def test_messages_of_any_size_and_quality(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(listen_on_connect=False)) as device:
        text = "x" * 70_000
        broker.link.publish({"type": "stt", "text": text}, qos=1)
        await device.wait_for(lambda: device.stt_texts == [text], what="the long text")
        await broker.until(lambda: (4, 0, b"\x00\x07") in broker.link.packets)
        broker.link.publish(b"no json")
        await device.wait_for(lambda: device.violations, what="the complaint")


# Faults from the start, and many


async def test_faulty_hellos(broker: MqttServer) -> None:
    twice = broker.device(misbehaviour=Misbehaviour(hello="twice"))
    async with SimulatedDevice(twice) as device:
        await broker.until(lambda: len(broker.link.bodies("hello")) == 2)
        await device.wait_for(lambda: len(device.frames) > 3, what="both answers")
    for fault, sent in (("wrong_text", "listen"), ("none", None)):
        config = broker.device(misbehaviour=Misbehaviour(hello=fault))  # type: ignore[arg-type]
        async with SimulatedDevice(config) as device:
            await device.ping()
            assert device.state == "idle"
            kinds = [text["type"] for text in broker.link.texts if isinstance(text, dict)]
            assert kinds == ([sent] if sent else [])


async def test_a_hundred_devices_need_no_threads_and_leave_nothing(broker: MqttServer) -> None:
    tasks = len(asyncio.all_tasks())
    devices = [
        SimulatedDevice(broker.device(share_speech=True, decode=False, keep_frames=False))
        for _ in range(100)
    ]
    await asyncio.gather(*(device.start() for device in devices))
    assert all(device.state == "listening" for device in devices)
    assert threading.active_count() < 50
    await asyncio.gather(*(device.close() for device in devices))
    assert len(asyncio.all_tasks()) == tasks


def test_one_way_to_a_server() -> None:
    mqtt = Mqtt(endpoint="x", client_id="y", password="secret")
    assert "secret" not in repr(mqtt)
    for more in ({"ws_url": "ws://x"}, {"ota_url": "http://x"}, {"codec": "pcm"}):
        with pytest.raises(ValueError, match=r"exactly one|codec='pcm'"):
            DeviceConfig(mqtt=mqtt, **more)  # type: ignore[arg-type]
