"""What the MQTT carrier makes of a device that sends too much, and of a full connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.mqtt.support import ACCEPTED, Client, connect, down, up
from tests.unit.transports.xiaozhi.mqtt.test_udp import Device
from tests.unit.transports.xiaozhi.support import BOUND_S
from vixio.transports.admission.admission import Admission, AdmissionSettings
from vixio.transports.admission.limits import Limits
from vixio.transports.xiaozhi.channel import Channel
from vixio.transports.xiaozhi.mqtt.carrier import MqttCarrier, MqttSettings
from vixio.transports.xiaozhi.mqtt.channel import MOST_WAITING

UNAVAILABLE = b"\x20\x02\x00\x03"


@asynccontextmanager
async def served(limits: Limits) -> AsyncIterator[tuple[MqttCarrier, list[Channel]]]:
    """Run a carrier whose sessions read, and do nothing; "cut" ends them as bad messages do."""
    channels: list[Channel] = []

    async def serve(channel: Channel) -> None:
        channels.append(channel)
        with suppress(EOFError):
            while True:
                if await channel.inbox.get() == "cut":
                    channel.cut("bad messages")

    admission = Admission(AdmissionSettings(limits=limits, trusted_proxies=()))
    settings = MqttSettings(host="127.0.0.1", port=0, udp_port=0)
    carrier = MqttCarrier(settings, admission)
    await carrier.start(serve)
    try:
        yield carrier, channels
    finally:
        async with asyncio.timeout(BOUND_S):
            await carrier.stop()
    assert admission.admitted == admission.tracker.addresses == 0


@asynccontextmanager
async def dialled(carrier: MqttCarrier) -> AsyncIterator[Client]:
    client = Client(*await asyncio.open_connection("127.0.0.1", carrier.port))
    client.send(connect())
    try:
        yield client
    finally:
        client.writer.transport.abort()


@pytest.mark.parametrize("excess", [up(b"x") * 1_000, up(b"cut")])
async def test_a_device_that_is_cut_off_costs_its_address_connects(excess: bytes) -> None:
    limits = Limits(connects_per_address=20, messages_per_second=10.0, message_burst=1.0)
    async with served(limits) as (carrier, _):
        async with dialled(carrier) as quiet:
            assert await quiet.read(4) == ACCEPTED
        async with dialled(carrier) as client:
            client.send(excess)
            assert await client.rest() == ACCEPTED
        async with dialled(carrier) as again:
            assert await again.rest() == UNAVAILABLE


async def test_of_several_messages_all_are_sent_or_none() -> None:
    async with served(Limits()) as (carrier, channels), dialled(carrier) as client:
        assert await client.read(4) == ACCEPTED
        await until(lambda: channels)
        (channel,) = channels
        sent = 0
        while channel.send_now("a" * 30_000, "b"):
            sent += 1
            assert sent < 10_000
        reading = asyncio.create_task(client.rest())
        await asyncio.wait_for(channel.writable(), BOUND_S)
        await asyncio.wait_for(channel.close(), BOUND_S)
        assert await reading == (down(b"a" * 30_000) + down(b"b")) * sent


async def test_audio_that_nobody_reads_is_bounded() -> None:
    admission = Admission(AdmissionSettings(trusted_proxies=()))
    carrier = MqttCarrier(MqttSettings(host="127.0.0.1", port=0, udp_port=0), admission)
    channels: list[Channel] = []
    over = asyncio.Event()

    async def serve(channel: Channel) -> None:
        channels.append(channel)
        await over.wait()

    await carrier.start(serve)
    try:
        async with dialled(carrier):
            await until(lambda: bool(channels), what="the device")
            (channel,) = channels
            udp = channel.begin(60)["udp"]
            key, nonce = bytes.fromhex(udp["key"]), bytes.fromhex(udp["nonce"])
            device = Device(udp["port"], key, nonce)
            try:
                for _ in range(MOST_WAITING + 40):
                    device.send()
                    await asyncio.sleep(0)
                await until(lambda: admission.counters.get("udp.dropped.unread") > 0)
                assert len(channel.inbox) == MOST_WAITING
            finally:
                device.socket.close()
                over.set()
    finally:
        async with asyncio.timeout(BOUND_S):
            await carrier.stop()
