"""Faults that a test triggers during a conversation.

Faults from the start (hello, pongs, MCP answers) are configured in `config.Misbehaviour`.
"""

from __future__ import annotations

import random

from firmware_test_client import mqtt_packets
from firmware_test_client.application import Application
from firmware_test_client.errors import Disconnected
from firmware_test_client.framing import AudioPacket
from firmware_test_client.mqtt_link import MqttLink
from firmware_test_client.mqtt_protocol import MqttProtocol
from firmware_test_client.speech import StreamFormat, encoded_noise


class Misdeeds:
    """Available as `device.misdeeds`. Every method queues its messages and returns at once."""

    def __init__(self, application: Application) -> None:
        self._app = application

    def garbage_opus(self, count: int = 10, *, seed: int = 0) -> None:
        """Send correctly framed packets of random bytes that are not Opus."""
        source = random.Random(seed)  # noqa: S311  repeatable garbage, no secret
        for _ in range(count):
            # 0xFF: code 3 with 63 frames, longer than any packet may be (RFC 6716 section 3.4).
            payload = b"\xff\xff" + source.randbytes(source.randrange(1, 200))
            self._app.protocol.send_audio(AudioPacket(payload))

    def wrong_size_frames(self, count: int = 3) -> None:
        """Send audio with a wrong size field, also truncated (not with framing version 1)."""
        self._app.protocol.send_wrong_sizes(count)

    def stray_audio(self, count: int = 10) -> None:
        """Send valid audio packets in any state: before `listen`, after `stop`, …"""
        packets = encoded_noise(StreamFormat.of(self._app.config))
        for at in range(count):
            self._app.protocol.send_audio(AudioPacket(packets[at % len(packets)]))

    def listen_start_again(self) -> None:
        """Send `listen start` again while the microphone is on."""
        self._app.protocol.send_start_listening(self._app.mode)

    def hello_again(self) -> None:
        """Send another hello during the conversation."""
        self._app.protocol.send(self._app.protocol.hello_message())

    def stall_uplink(self) -> None:
        """Hold back everything that the device sends, including audio, until `release_uplink`."""
        self._app.protocol.stall()

    def release_uplink(self) -> None:
        """Send everything that was held back in one burst."""
        self._app.protocol.release()

    def stop_reading(self) -> None:
        """Stop reading from the socket, so that the server's send buffer fills up."""
        self._app.protocol.stop_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._app.protocol.resume_reading()

    def mcp_payload(self, payload: str) -> None:
        """Send any text as the payload of an `mcp` message, such as an unsolicited answer."""
        self._app.protocol.send_mcp(payload)

    # MQTT and UDP only. A second connection of the same client id is a second SimulatedDevice of
    # the same configuration.

    def mqtt_bytes(self, data: bytes) -> None:
        """Write bytes to the MQTT connection as they are."""
        self._link.write(data)

    def mqtt_publish(
        self, topic: str, payload: str | bytes, *, qos: int = 0, retain: bool = False
    ) -> None:
        """Publish to any topic; with QoS 1 or 2 as packet 1."""
        data = payload.encode() if isinstance(payload, str) else payload
        packet = mqtt_packets.publish(topic, data, qos=qos, packet_id=1, retain=retain)
        self._link.write(packet)

    def mqtt_subscribe(self, topic: str) -> None:
        """Subscribe, which the firmware never does; the SUBACK is ignored."""
        self._link.write(mqtt_packets.subscribe(1, topic))

    def mqtt_connect_again(self) -> None:
        """Send CONNECT a second time on the same connection."""
        self._link.write(self._mqtt.client.login())

    def change_udp_port(self) -> int:
        """Go on from another UDP port, as behind a router that has forgotten it; returns it."""
        udp = self._mqtt.udp
        if udp is None:
            raise Disconnected("there is no UDP socket")
        udp.change_port()
        return udp.port

    @property
    def _mqtt(self) -> MqttProtocol:
        if not isinstance(self._app.protocol, MqttProtocol):
            raise Disconnected("the device is not connected by MQTT")
        return self._app.protocol

    @property
    def _link(self) -> MqttLink:
        link = self._mqtt.client.link
        if link is None:
            raise Disconnected("the device has not connected yet")
        return link
