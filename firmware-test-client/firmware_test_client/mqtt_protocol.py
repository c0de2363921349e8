"""The protocol over MQTT, which stays connected, with audio by UDP during a conversation.

Follows main/protocols/mqtt_protocol.cc. The device never subscribes.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any, Final

from firmware_test_client.channel import HardClose
from firmware_test_client.config import DeviceConfig
from firmware_test_client.errors import ConnectError, Disconnected, HelloError
from firmware_test_client.framing import AudioPacket, FramingError
from firmware_test_client.main_task import Work
from firmware_test_client.mqtt_client import MqttClient
from firmware_test_client.protocol import DeviceProtocol, ProtocolObserver
from firmware_test_client.records import CloseInfo, Records
from firmware_test_client.state import DeviceState
from firmware_test_client.udp_audio import HEADER, UdpAudio, UdpOffer, read_offer
from firmware_test_client.udp_socket import UdpSocket

_NORMAL: Final = 1000
_ABNORMAL: Final = 1006

# main/assets/locales/en-US
_SERVER_NOT_FOUND: Final = "Looking for available service"
_SERVER_NOT_CONNECTED: Final = "Unable to connect to service, please try again later"
_SERVER_TIMEOUT: Final = "Waiting for response timeout"
_SERVER_ERROR: Final = "Sending failed, please check the network"


class MqttProtocol(DeviceProtocol):
    """A client that keeps itself connected, and the UDP socket of the conversation."""

    carrier = "mqtt"
    transport = "udp"

    def __init__(
        self,
        config: DeviceConfig,
        records: Records,
        observer: ProtocolObserver,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(config, records, observer, clock)
        self.version = 3
        self._client = MqttClient(config, self, self._on_connected, self._when_idle)
        self._start_error: ConnectError | None = None
        self._offer: UdpOffer | None = None
        self._audio: UdpAudio | None = None
        self._udp: UdpSocket | None = None
        self._error_occurred = False
        self._held: deque[str | bytes] | None = None  # during a stall
        self._vanished = False  # half open: nothing is sent or read any more

    @property
    def connected(self) -> bool:
        """Whether there is an MQTT connection, and a conversation's UDP socket."""
        return self.online and self._udp is not None

    @property
    def online(self) -> bool:
        """Whether there is an MQTT connection."""
        return self._client.online

    @property
    def channel_open(self) -> bool:
        """IsAudioChannelOpened: the loss of the MQTT connection does not close the channel."""
        return self._udp is not None and not self._error_occurred and not self.timed_out

    @property
    def client(self) -> MqttClient:
        """The MQTT client."""
        return self._client

    @property
    def udp(self) -> UdpSocket | None:
        """The conversation's socket."""
        return self._udp

    # The connection

    async def start(self) -> None:
        """Start. The boot goes on without a connection; `go_online` then raises the error."""
        self._start_error = None
        try:
            await self._connect(report_error=False)
        except ConnectError as error:
            self._start_error = error

    async def go_online(self) -> None:
        """Connect, unless there is a connection."""
        error, self._start_error = self._start_error, None
        if self.online:
            return
        if error is not None:
            raise error
        await self._connect(report_error=True)

    async def _connect(self, *, report_error: bool) -> None:
        try:
            await self._client.start()
        except ConnectError:
            if self._client.settings.endpoint:
                self._set_error(_SERVER_NOT_CONNECTED)
            elif report_error:
                self._set_error(_SERVER_NOT_FOUND)
            raise

    def _on_connected(self) -> None:
        self._observer.on_connected()
        self._records.changed()

    def on_lost(self, reason: str) -> None:
        """OnDisconnected: the audio channel is not closed, and the state does not change."""
        self._records.closes.append(CloseInfo(_ABNORMAL, reason, self._clock()))
        self._hello.set()  # ends the wait for it; the firmware waits for its whole time
        self._records.changed()

    def _when_idle(self, work: Work) -> None:
        if self._observer.state is DeviceState.IDLE:
            self._observer.schedule(work)

    def _set_error(self, message: str) -> None:
        """SetError."""
        self._error_occurred = True
        self._observer.on_network_error(message)

    # The audio channel

    async def open_audio_channel(self) -> None:
        """Send hello by MQTT, then open the UDP socket to the server that its hello states."""
        await self.go_online()
        config = self._config
        self._error_occurred = False
        self.session_id = ""
        self._close_udp()  # of a channel that counts as dead
        self._hello.clear()
        if not self._client.settings.publish_topic:
            raise ConnectError("publish_topic is empty: the device cannot send anything")
        self._send_hello()
        if not self.hello_awaited:
            return
        try:
            async with asyncio.timeout(config.hello_timeout):
                await self._hello.wait()
        except TimeoutError:
            self._set_error(_SERVER_TIMEOUT)
            raise HelloError(f"no server hello within {config.hello_timeout:g} s") from None
        if not self.online:
            raise HelloError(f"closed before the hello: {self._records.closes[-1].reason}")
        await self._open_udp()
        if config.misbehaviour.never_read:
            self.stop_reading()

    async def _open_udp(self) -> None:
        offer = self._offer
        if offer is None:
            raise HelloError("no server hello")
        address = (await _ipv4(offer.server), offer.port)
        networks = (self._config.udp_uplink, self._config.udp_downlink)
        self._udp = UdpSocket(address, self._on_datagram, networks, self._records.counters)
        if self._config.tells_address:
            self.send_audio(AudioPacket(self._config.nat_payload))

    async def close(self) -> None:
        """CloseAudioChannel, if it is open."""
        self._resume_all()
        if self._udp is not None:
            self._close_channel("goodbye", send_goodbye=True)
            if self.online and self._client.link is not None:
                with contextlib.suppress(Disconnected):
                    await self._client.link.flush()

    async def shut_down(self) -> None:
        """CloseAudioChannel, then the destructor: DISCONNECT."""
        if self._vanished and self._client.link is not None:
            self._client.link.end()  # what vanished says nothing at its end either
        await self.close()
        await self._client.stop()
        self._vanished = False

    def _close_channel(self, reason: str, *, send_goodbye: bool) -> None:
        self._close_udp()
        if send_goodbye:
            self._send('"type":"goodbye"')
        close = CloseInfo(_NORMAL, reason, self._clock())
        self._records.closes.append(close)
        self._observer.on_channel_closed(close)
        self._records.changed()

    def _close_udp(self) -> None:
        udp, self._udp = self._udp, None
        if udp is not None:
            udp.close()

    # Sending

    def send(self, data: str | bytes) -> bool:
        """Publish a text, or send a datagram as it is."""
        if self._held is not None:
            self._held.append(data)
            return self.online
        return self._publish(data) if isinstance(data, str) else self._send_datagram(data)

    def send_audio(self, packet: AudioPacket) -> bool:
        """SendAudio: nothing without a UDP socket."""
        if self._udp is None or self._audio is None:
            return False
        return self.send(self._audio.pack(packet))

    def _publish(self, text: str) -> bool:
        """SendText."""
        topic = self._client.settings.publish_topic
        if self._client.link is None or not topic:
            return False
        if not self.online:
            self._set_error(_SERVER_ERROR)
            return False
        self.on_sent(text)
        return self._client.link.publish(topic, text.encode())

    def _send_datagram(self, data: bytes) -> bool:
        if self._udp is None or not self._udp.send(data):
            return False
        self.on_sent(data)
        return True

    async def flush(self) -> None:
        """Wait until everything is written; during a stall, do not wait."""
        if self._client.link is None:
            raise Disconnected("the device has not connected yet")
        if self._held is None or not self.online:
            await self._client.link.flush()

    async def ping(self, timeout: float) -> float:
        """PINGREQ of MQTT."""
        if self._client.link is None:
            raise Disconnected("the device has not connected yet")
        return await self._client.link.ping(timeout)

    # Faults

    def abort(self, how: HardClose) -> None:
        """Lose the MQTT connection; `half_open`: UDP is silent too."""
        if how != "half_open":
            if self._client.link is not None:
                self._client.link.abort(how)
            return
        self._vanished = True
        self.stall()
        self.stop_reading()
        if self._client.link is not None:
            self._client.link.silence()

    def stall(self) -> None:
        """Hold back MQTT messages and UDP datagrams."""
        if self._held is None:
            self._held = deque()

    def release(self) -> None:
        """Send everything that was held back, in its order."""
        held, self._held = self._held, None
        for data in held or ():
            self.send(data)

    def stop_reading(self) -> None:
        """Leave incoming data in both sockets."""
        if self._client.link is not None:
            self._client.link.stop_reading()
        if self._udp is not None:
            self._udp.stop_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if self._client.link is not None:
            self._client.link.resume_reading()
        if self._udp is not None:
            self._udp.resume_reading()

    def _resume_all(self) -> None:
        if self._vanished:
            self._held = None  # never sent
        self.release()
        self.resume_reading()

    def send_wrong_sizes(self, count: int) -> None:
        """Datagrams whose header states too much, also truncated ones."""
        if self._offer is not None:
            head = HEADER.pack(1, 0, 0xFFFF, int.from_bytes(self._offer.nonce[4:8], "big"), 0, 0)
            for at in range(count):
                self.send(head[: len(head) - at] or b"\x00")

    # Receiving

    def on_publish(self, payload: bytes) -> None:
        """The OnMessage callback of StartMqttClient."""
        now = self._clock()
        text = payload.decode(errors="replace")
        self._records.frame(now, "in", text)
        self._read_text(text, now)
        self.last_incoming = now
        self._records.changed()

    def _on_datagram(self, datagram: bytes) -> None:
        """The OnMessage callback of OpenAudioChannel."""
        now, counters = self._clock(), self._records.counters
        self._records.frame(now, "in", datagram)
        if self._audio is None:
            return
        try:
            packet = self._audio.unpack(datagram)
        except FramingError as error:
            counters.framing_errors += 1
            self._records.violations.append(str(error))
            return
        if packet is None:
            counters.udp_stale += 1
            return
        counters.udp_gaps += self._audio.missing
        self.last_incoming = now
        self._observer.on_audio(packet, now)
        self._records.changed()

    def _on_json(self, kind: str, body: dict[str, Any], now: float) -> None:
        if kind != "goodbye":
            super()._on_json(kind, body, now)
        elif body.get("session_id") == self.session_id:
            self._observer.schedule(self._closed_by_server)

    def _closed_by_server(self) -> None:
        """Nothing is answered to a goodbye."""
        self._close_channel("goodbye of the server", send_goodbye=False)

    def _accept_hello(self, body: dict[str, Any]) -> bool:
        if not super()._accept_hello(body):
            return False
        offer = read_offer(body.get("udp"))
        if offer is None:
            self._records.violations.append("hello without a usable udp section")
            return False
        self._offer, self._audio = offer, UdpAudio(offer)
        return True


async def _ipv4(host: str) -> str:
    """gethostbyname (EspUdp::Connect).

    Raises:
        ConnectError: no IPv4 address.
    """
    try:
        return str(IPv4Address(host))
    except ValueError:
        pass  # a name
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None, family=socket.AF_INET, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise ConnectError(f"no IPv4 address of {host!r}: {error}") from error
    return str(found[0][4][0])
