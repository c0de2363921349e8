"""The server asks an idle device to speak (pull request 1939 of 78/xiaozhi-esp32)."""

from __future__ import annotations

import asyncio

from mqtt_server import MqttServer
from scripted_server import tone_packets

from firmware_test_client import SimulatedDevice

REQUEST = {"session_id": "r1", "type": "speak_request", "text": "Tea is ready."}


async def test_an_idle_device_opens_the_channel_and_is_ready(broker: MqttServer) -> None:
    config = broker.device(speak_request=True, listen_on_connect=False, mode="manual")
    async with SimulatedDevice(config) as device:
        link = broker.link
        link.publish(REQUEST)
        await broker.until(lambda: link.bodies("speak_ready") and broker.datagrams)
        assert link.texts[1] == {"session_id": "s1", "type": "speak_ready", "state": "ready"}
        ((header, payload),) = broker.heard()
        assert (header[2], header[4], header[5], payload) == (0, 0, 1, b"")
        assert device.state == "speaking"
        await broker.speak(tone_packets(10), "Tea is ready.")
        reply = await device.wait_for_reply(after=0)
        assert (reply.text, reply.played) == ("Tea is ready.", 10)
        await broker.until(lambda: link.bodies("listen"))
        assert link.bodies("listen")[0]["mode"] == "auto"
        assert device.listening
        link.publish({"type": "goodbye", "session_id": "s1"})
        await device.wait_for_state("idle")
        assert device.violations == []


async def test_it_may_come_again(broker: MqttServer) -> None:
    config = broker.device(speak_request=True, listen_on_connect=False, nat_payload=b"\xf8")
    async with SimulatedDevice(config) as device:
        for turn in range(2):
            waiting = asyncio.create_task(device.wait_for_reply(after=turn))
            await device.ping()
            broker.link.publish(REQUEST)
            await device.wait_for_state("speaking")
            await broker.until(lambda: broker.datagrams)
            assert broker.heard()[0][1] == b"\xf8"
            await broker.speak(tone_packets(3))
            assert (await waiting).played == 3
            await device.disconnect()
        assert len(broker.link.bodies("speak_ready")) == 2


async def test_a_channel_that_is_open_is_used_again(broker: MqttServer) -> None:
    config = broker.device(speak_request=True, mode="manual")
    async with SimulatedDevice(config) as device:
        await device.press()
        await device.release()
        assert (device.state, device.channel_open) == ("idle", True)
        broker.link.publish(REQUEST)
        await broker.until(lambda: broker.link.bodies("speak_ready"))
        assert len(broker.link.bodies("hello")) == 1


async def test_not_idle_means_ignored(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(speak_request=True)) as device:
        broker.link.publish(REQUEST)
        await device.ping()
        await device.ping()  # an answer would have come before this one's
        assert device.state == "listening"
        assert broker.link.bodies("speak_ready") == []


async def test_firmware_that_does_not_know_it_ignores_it(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(listen_on_connect=False)) as device:
        broker.link.publish(REQUEST)
        await device.wait_for_frame("speak_request")
        await device.ping()
        assert (device.state, broker.link.texts, device.violations) == ("idle", [], [])


async def test_no_channel_no_answer(broker: MqttServer) -> None:
    broker.hello = None
    config = broker.device(speak_request=True, listen_on_connect=False, hello_timeout=0.1)
    async with SimulatedDevice(config) as device:
        broker.link.publish(REQUEST)
        await broker.until(lambda: broker.link.bodies("hello"))
        await device.wait_for(
            lambda: device.state == "idle" and device.screen, what="the timeout on the screen"
        )
        await device.ping()
        assert broker.link.bodies("speak_ready") == []
