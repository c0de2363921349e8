"""The MQTT connection itself: how it begins, ends and comes again, as the firmware has it."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import ssl
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from mqtt_server import Connection, MqttServer
from scripted_server import tone_packets

from firmware_test_client import ConnectError, Disconnected, SimulatedDevice
from firmware_test_client.mqtt_client import split_endpoint

# Endpoints


@pytest.mark.parametrize(
    ("endpoint", "parts"),
    [
        ("mqtt.example", ("mqtt.example", 8883)),
        ("10.0.0.1:1883", ("10.0.0.1", 1883)),
        ("host:1883/x", ("host", 1883)),
    ],
)
def test_endpoints(endpoint: str, parts: tuple[str, int]) -> None:
    assert split_endpoint(endpoint) == parts


@pytest.mark.parametrize("endpoint", ["::1", "[::1]:1883", "host:", "host:mqtt", "host:65536"])
def test_endpoints_that_restart_the_firmware(endpoint: str) -> None:
    with pytest.raises(ConnectError, match="no port number"):
        split_endpoint(endpoint)


async def test_tls_on_its_port_alone(
    broker: MqttServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()
    secure = await loop.create_server(lambda: Connection(broker), "127.0.0.1", 0, ssl=context)
    port = secure.sockets[0].getsockname()[1]
    config = broker.device(settings={"endpoint": f"127.0.0.1:{port}"}, hello_timeout=5)
    with pytest.raises(ConnectError):  # in plain text
        await SimulatedDevice(config).start()
    monkeypatch.setattr("firmware_test_client.mqtt_link.TLS_PORT", port)
    with pytest.raises(ConnectError, match="certificate"):
        await SimulatedDevice(config).start()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with SimulatedDevice(config) as device:
        assert device.state == "listening"
    secure.close()


def self_signed(folder: Path) -> Path:
    """A certificate for 127.0.0.1 with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "server.pem"
    path.write_bytes(secret + built.public_bytes(pem))
    return path


# Refusals


async def test_a_refusal_is_an_error_with_its_code(broker: MqttServer) -> None:
    broker.refusals = [5]
    device = SimulatedDevice(broker.device(mqtt_retry=None))
    with pytest.raises(ConnectError, match="CONNACK 5, not authorised") as caught:
        await device.start()
    assert caught.value.status == 5
    assert len(broker.connections) == 1


async def test_a_boot_goes_on_without_a_connection(broker: MqttServer) -> None:
    broker.refusals = [3]
    device = SimulatedDevice(broker.device(mqtt_retry=None))
    await device.boot()
    assert (device.state, device.online) == ("idle", False)
    assert any("Unable to connect to service" in line for line in device.screen)
    with pytest.raises(ConnectError):
        await device.connect()
    await device.connect()  # the user's press of the button connects anew
    assert device.state == "listening"
    assert len(broker.connections) == 2
    await device.close()


async def test_esp_mqtt_goes_on_trying(broker: MqttServer) -> None:
    broker.refusals = [3, 3, 3]
    device = SimulatedDevice(broker.device(listen_on_connect=False))
    await device.boot()
    await device.wait_for(lambda: device.online, what="the fourth attempt")
    assert len(broker.connections) == 4
    await device.close()


async def test_nobody_answers() -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silence, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with MqttServer() as broker:
        config = broker.device(settings={"endpoint": f"127.0.0.1:{port}"}, hello_timeout=0.2)
        with pytest.raises(ConnectError, match=r"no MQTT connection to .* within 0\.2 s"):
            await SimulatedDevice(config).start()
        config = broker.device(settings={"endpoint": "127.0.0.1:9"}, mqtt_retry=None)
        with pytest.raises(ConnectError, match="cannot connect to"):
            await SimulatedDevice(config).start()
    server.close()


@pytest.mark.parametrize("data", [b"\xf0\x00", b"\x20\x02\x00\x00" * 2, b"\x30\x01x"])
async def test_a_malformed_answer_ends_the_connection(broker: MqttServer, data: bytes) -> None:
    async with SimulatedDevice(broker.device(listen_on_connect=False, mqtt_retry=None)) as device:
        broker.link.raw(data)
        await device.wait_for(lambda: not device.online, what="the end")
        assert "malformed" in device.records.closes[0].reason


# Losing it


@pytest.mark.parametrize("how", ["reset", "fin"])
async def test_a_lost_connection_comes_again_in_any_state(
    broker: MqttServer, how: Literal["reset", "fin"]
) -> None:
    """ESP-MQTT's own retry; the device has noticed nothing, and its channel is still open."""
    async with SimulatedDevice(broker.device()) as device:
        first = broker.link
        await broker.until(lambda: broker.datagrams)
        device.disconnect_hard(how)
        await first.ended.wait()
        assert isinstance(first.lost, ConnectionResetError) is (how == "reset")
        assert first.count(14) == 0
        assert (await device.wait_for_close()).code == 1006
        await broker.accepted(2)
        await device.wait_for(lambda: device.online, what="the connection")
        count = len(broker.datagrams)
        await broker.until(lambda: len(broker.datagrams) > count)
        assert (device.state, device.channel_open, device.session_id) == ("listening", True, "s1")
        assert broker.link.texts == []
        await device.toggle()
        await broker.until(lambda: broker.link.bodies("goodbye"))
        assert device.state == "idle"


async def test_the_firmwares_own_timer_works_in_idle_only(broker: MqttServer) -> None:
    config = broker.device(mqtt_retry=None, pause_scale=0.002)  # the timer: 120 ms
    async with SimulatedDevice(config) as device:
        device.disconnect_hard("fin")
        await device.wait_for_close()
        await asyncio.sleep(0.3)
        assert (device.state, device.online, len(broker.connections)) == ("listening", False, 1)
    async with SimulatedDevice(dataclasses.replace(config, listen_on_connect=False)) as device:
        broker.link.close()
        await device.wait_for(lambda: not device.online, what="the end")
        await device.wait_for(lambda: device.online, what="the timer")
        assert len(broker.connections) == 3


async def test_a_message_that_cannot_be_sent_is_shown_and_ends_it(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(mqtt_retry=None, pause_scale=1)) as device:
        await broker.until(lambda: broker.datagrams)
        broker.link.publish({"type": "tts", "state": "start"})
        await device.wait_for_state("speaking")
        broker.link.close()
        await device.wait_for(lambda: not device.online, what="the end")
        assert (device.state, device.channel_open) == ("speaking", True)
        with pytest.raises(Disconnected):
            await device.wait_for_reply()
        with pytest.raises(Disconnected):
            await device.abort()
        assert (device.state, device.channel_open) == ("idle", False)
        assert any("Sending failed" in line for line in device.screen)
        await device.toggle()  # connects, and opens a channel
        assert (device.state, device.online) == ("listening", True)
        assert len(broker.connections) == 2


async def test_half_open_is_silent_on_both_ways(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device(settings={"keepalive": 1})) as device:
        await broker.until(lambda: broker.datagrams)
        device.disconnect_hard("half_open")
        packets, datagrams = len(broker.link.packets), len(broker.datagrams)
        await asyncio.sleep(0.7)
        assert (len(broker.link.packets), len(broker.datagrams)) == (packets, datagrams)
        assert device.connected
    await broker.link.ended.wait()
    await asyncio.sleep(0.05)  # datagrams would be here by now
    assert broker.link.bodies("goodbye") == []
    assert len(broker.datagrams) == datagrams


async def test_keepalive(broker: MqttServer) -> None:
    config = broker.device(settings={"keepalive": 1}, listen_on_connect=False, mqtt_retry=None)
    async with SimulatedDevice(config) as device:
        began = device.now
        await broker.until(lambda: broker.link.count(12) == 3)
        assert 1.0 < device.now - began < 4.0  # every half second, on a busy machine too
        assert device.online
        broker.answers_pings = False
        await device.wait_for(lambda: not device.online, what="the end")
        assert "no PINGRESP" in device.records.closes[0].reason
        with pytest.raises(Disconnected):
            await device.ping()


async def test_power_off_says_goodbye_and_disconnects(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()):
        await broker.until(lambda: broker.datagrams)
    await broker.link.ended.wait()
    assert broker.link.bodies("goodbye")
    assert broker.link.packets[-1] == (14, 0, b"")
    assert broker.link.lost is None


# Faults on demand


async def test_stall_and_burst(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()) as device:
        await broker.until(lambda: broker.datagrams)
        device.misdeeds.stall_uplink()
        device.misdeeds.listen_start_again()
        count = len(broker.datagrams)
        await asyncio.sleep(0.3)
        assert (len(broker.datagrams), len(broker.link.bodies("listen"))) == (count, 1)
        device.misdeeds.release_uplink()
        await device.ping()
        assert len(broker.link.bodies("listen")) == 2
        await broker.until(lambda: len(broker.datagrams) >= count + 3)
        sequences = [header[5] for header, _ in broker.heard()]
        assert sequences == list(range(1, len(sequences) + 1))


async def test_not_reading(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()) as device:
        await broker.until(lambda: broker.datagrams)
        device.misdeeds.stop_reading()
        broker.link.publish({"type": "stt", "text": "late"})
        broker.send(broker.pack(tone_packets(1)[0]))
        await asyncio.sleep(0.1)
        assert (device.stt_texts, device.counters.binary_in) == ([], 0)
        device.misdeeds.resume_reading()
        await device.wait_for(lambda: device.stt_texts == ["late"], what="the text")
        await device.wait_for(lambda: device.counters.binary_in == 1, what="the audio")


async def test_misdeeds_of_mqtt(broker: MqttServer) -> None:
    async with SimulatedDevice(broker.device()) as device:
        link, misdeeds = broker.link, device.misdeeds
        misdeeds.mqtt_publish("vixio/up/other", "{}", qos=1, retain=True)
        misdeeds.mqtt_subscribe("#")
        misdeeds.mqtt_connect_again()
        misdeeds.mqtt_bytes(b"\xc0\x00")
        await broker.until(lambda: link.count(12))
        assert (3, 0b0011, b"\x00\x0evixio/up/other\x00\x01{}") in link.packets
        assert (8, 2, b"\x00\x01\x00\x01#\x00") in link.packets
        assert link.count(1) == 2
        await broker.until(lambda: broker.datagrams)
        count = len(broker.datagrams)
        misdeeds.wrong_size_frames(3)
        misdeeds.garbage_opus(2)
        misdeeds.stray_audio(2)
        await device.send_binary(b"raw")
        await broker.until(lambda: len(broker.datagrams) >= count + 8)
        sizes = [len(data) for data, _ in broker.datagrams]
        assert {16, 15, 14, 3} <= set(sizes)


async def test_misdeeds_of_mqtt_need_it(broker: MqttServer) -> None:
    device = SimulatedDevice(broker.device())
    with pytest.raises(Disconnected, match="not connected yet"):
        device.misdeeds.mqtt_bytes(b"")
    with pytest.raises(Disconnected, match="no UDP socket"):
        device.misdeeds.change_udp_port()
    await device.close()
