"""The UDP path between the device and a server, made worse on purpose."""

from __future__ import annotations

import asyncio

import pytest
from mqtt_server import MqttServer, free_port
from scripted_server import tone_packets

from firmware_test_client import Network, SimulatedDevice

PACKET = tone_packets(1)[0]


async def sequences(broker: MqttServer, count: int) -> list[int]:
    """Of the first `count` datagrams that arrive."""
    await broker.until(lambda: len(broker.datagrams) >= count)
    return [header[5] for header, _ in broker.heard()[:count]]


async def uplink(broker: MqttServer, network: Network, packets: int = 40) -> list[int]:
    """Sequences that arrive of so many packets of a device with this network."""
    async with SimulatedDevice(broker.device(mode="manual", udp_uplink=network)) as device:
        await device.press()
        device.misdeeds.stray_audio(packets)
        await device.release()
        await asyncio.sleep(0.3)  # whatever is under way
        return [header[5] for header, _ in broker.heard() if header[5] <= packets]


async def test_loss_is_seeded(broker: MqttServer) -> None:
    arrived = await uplink(broker, Network(loss=0.3, seed=7))
    assert 15 < len(arrived) < 38
    assert arrived == sorted(set(arrived))
    assert await uplink(broker, Network(loss=0.3, seed=7)) == arrived
    assert await uplink(broker, Network(loss=0.3, seed=8)) != arrived


async def test_duplicates(broker: MqttServer) -> None:
    arrived = await uplink(broker, Network(duplicate=0.5))
    assert arrived == sorted(arrived)
    assert len(arrived) > len(set(arrived)) == 40


async def test_reordering(broker: MqttServer) -> None:
    arrived = await uplink(broker, Network(reorder=0.5))
    assert sorted(arrived) == list(range(1, 41))
    assert arrived != sorted(arrived)
    assert all(abs(place - number) <= 1 for place, number in enumerate(arrived, 1))


async def test_the_last_datagram_does_not_wait_for_ever(broker: MqttServer) -> None:
    assert await uplink(broker, Network(reorder=1.0), packets=1) == [1]


async def test_jitter_keeps_the_order(broker: MqttServer) -> None:
    config = broker.device(udp_uplink=Network(jitter_ms=80))
    async with SimulatedDevice(config) as device:
        device.misdeeds.stray_audio(30)
        began = device.now
        assert await sequences(broker, 30) == list(range(1, 31))
        assert device.now - began > 0.05


async def test_the_downlink_has_a_network_of_its_own(broker: MqttServer) -> None:
    network = Network(loss=0.2, duplicate=0.2, reorder=0.2, seed=1)
    async with SimulatedDevice(broker.device(udp_downlink=network)) as device:
        await broker.until(lambda: broker.datagrams)
        broker.link.publish({"type": "tts", "state": "start"})
        await device.wait_for_state("speaking")
        for _ in range(40):
            broker.send(broker.pack(PACKET))
        counters = device.counters
        await asyncio.sleep(0.3)
        assert counters.udp_lost > 2
        assert counters.udp_stale == counters.udp_duplicated + counters.udp_reordered
        assert device.replies[0].frames == counters.binary_in - counters.udp_stale
        assert 40 - device.replies[0].frames == counters.udp_gaps
        assert device.violations == []


async def test_another_port_in_mid_conversation(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()) as device:
        await broker.until(lambda: broker.datagrams)
        before = broker.datagrams[-1][1]
        port = device.misdeeds.change_udp_port()
        assert port != before[1]
        await broker.until(lambda: broker.datagrams[-1][1] == ("127.0.0.1", port))
        assert broker.heard()[-1][0][5] == len(broker.datagrams)
        broker.send(broker.pack(PACKET))
        await device.wait_for(lambda: device.counters.binary_in == 1, what="audio at the new port")


async def test_an_empty_datagram_ends_the_devices_udp(broker: MqttServer) -> None:
    """recv returns 0, EspUdp::ReceiveTask ends and Send refuses."""
    async with SimulatedDevice(broker.device()) as device:
        await broker.until(lambda: broker.datagrams)
        broker.send(b"")
        broker.send(broker.pack(PACKET))
        await asyncio.sleep(0.2)
        count = len(broker.datagrams)
        await asyncio.sleep(0.2)
        assert (len(broker.datagrams), device.counters.binary_in) == (count, 0)
        assert device.state == "listening"


async def test_nobody_at_the_servers_port(broker: MqttServer) -> None:
    """An ICMP error changes nothing."""
    assert broker.hello is not None
    broker.hello["udp"]["port"] = free_port()
    async with SimulatedDevice(broker.device()) as device:
        await device.wait_for(lambda: device.counters.binary_out > 3, what="what is sent")
        assert device.state == "listening"


async def test_what_is_too_long_is_cut_off(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()) as device:
        await broker.until(lambda: broker.datagrams)
        broker.send(broker.pack(bytes(1485)))
        broker.send(broker.pack(bytes(1484)))
        await device.wait_for(lambda: device.counters.binary_in == 2, what="both")
        assert device.counters.framing_errors == 1


@pytest.mark.parametrize("faults", [{"loss": 1.1}, {"reorder": -0.1}, {"jitter_ms": -1}])
def test_chances(faults: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"is not|negative"):
        Network(**faults)  # type: ignore[arg-type]
