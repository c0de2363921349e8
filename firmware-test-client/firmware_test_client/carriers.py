"""The protocol in use, which each boot chooses (Application::InitializeProtocol)."""

from __future__ import annotations

from collections.abc import Callable

from firmware_test_client.config import DeviceConfig
from firmware_test_client.framing import AudioPacket
from firmware_test_client.mqtt_protocol import MqttProtocol
from firmware_test_client.protocol import Carrier, DeviceProtocol, ProtocolObserver
from firmware_test_client.records import Records
from firmware_test_client.websocket_protocol import WebsocketProtocol


class Carriers:
    """One device's protocol: by WebSocket, or by MQTT and UDP.

    Attributes:
        current: the protocol in use; before the boot, the one of the configuration.
    """

    def __init__(
        self,
        config: DeviceConfig,
        records: Records,
        observer: ProtocolObserver,
        clock: Callable[[], float],
    ) -> None:
        self._parts = (config, records, observer, clock)
        self.current = self._make("websocket" if config.mqtt is None else "mqtt")

    async def start(self, carrier: Carrier) -> None:
        """Use a carrier, and connect where it stays connected."""
        if carrier != self.current.carrier:
            await self.current.shut_down()
            self.current = self._make(carrier)
        await self.current.start()

    def send_audio(self, packet: AudioPacket) -> bool:
        """Send a packet by the protocol in use."""
        return self.current.send_audio(packet)

    def send_mcp(self, payload: str) -> None:
        """Send a payload by the protocol in use."""
        self.current.send_mcp(payload)

    def _make(self, carrier: Carrier) -> DeviceProtocol:
        return (MqttProtocol if carrier == "mqtt" else WebsocketProtocol)(*self._parts)
