"""One MQTT connection of a device, from CONNECT to its end, and faults on demand.

Follows src/esp/esp_mqtt.cc of 78/esp-ml307 and ESP-MQTT: IPv4, TLS exactly on port 8883, a ping
each half keepalive, and no connection without an answer to it within a whole one.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from typing import Final, Protocol

from firmware_test_client import mqtt_packets as mqtt
from firmware_test_client.channel import HardClose
from firmware_test_client.errors import ConnectError, Disconnected

TLS_PORT: Final = 8883  # esp_mqtt.cc, Connect; also the port of an endpoint without one
_END: Final = 1.0  # seconds for the broker to close after DISCONNECT


class LinkObserver(Protocol):
    """Receives the messages of a link, and its end."""

    def on_publish(self, payload: bytes) -> None:
        """A message has arrived; the firmware does not look at its topic."""

    def on_lost(self, reason: str) -> None:
        """A connection that had been accepted is gone, and the device did not end it."""


class MqttLink(asyncio.Protocol):
    """One TCP connection to a broker.

    Args:
        keepalive: seconds.
    """

    def __init__(self, observer: LinkObserver, keepalive: int) -> None:
        self._observer = observer
        self._keepalive = keepalive
        self._loop = asyncio.get_running_loop()
        self._reader = mqtt.PacketReader()
        self._transport: asyncio.Transport | None = None
        self._accepted: asyncio.Future[int] = self._loop.create_future()
        self._pong: asyncio.Future[None] | None = None
        self._ping_timer: asyncio.TimerHandle | None = None
        self._reason = "the broker closed the connection"
        self._ours = False  # ended by the device
        self._may_write = asyncio.Event()
        self._may_write.set()
        self.closed = asyncio.Event()
        self.open = False

    async def connect(self, host: str, port: int, login: bytes, timeout: float) -> None:
        """Connect and log in with the bytes of a CONNECT.

        Raises:
            ConnectError: no connection, or refused; then with the code of the CONNACK.
        """
        where = f"{host}:{port}"
        tls = ssl.create_default_context() if port == TLS_PORT else None
        try:
            async with asyncio.timeout(timeout):
                await self._loop.create_connection(
                    lambda: self, host, port, family=socket.AF_INET, ssl=tls
                )
                self.write(login)
                code = await self._accepted
        except TimeoutError:
            self.end()
            raise ConnectError(f"no MQTT connection to {where} within {timeout:g} s") from None
        except (OSError, UnicodeError) as error:
            raise ConnectError(f"cannot connect to {where}: {error}") from error
        except asyncio.CancelledError:
            self.end()
            raise
        if code < 0:
            raise ConnectError(f"{where} closed the connection instead of a CONNACK")
        if code:
            self.end()
            why = mqtt.REFUSALS.get(code, "unknown code")
            raise ConnectError(f"{where} refused the connection: CONNACK {code}, {why}", code)
        if self.open:
            self._schedule_ping()

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def publish(self, topic: str, payload: bytes) -> bool:
        """Publish with QoS 0; False when there is no connection."""
        if not self.open:
            return False
        self.write(mqtt.publish(topic, payload))
        return True

    async def flush(self) -> None:
        """Wait until the transport takes more. Raises Disconnected if the connection has ended."""
        await self._may_write.wait()
        if not self.open:
            raise Disconnected(f"no MQTT connection: {self._reason}")

    async def ping(self, timeout: float) -> float:
        """PINGREQ; the round trip in seconds. Raises Disconnected without an answer."""
        began = self._loop.time()
        await self.flush()
        try:
            async with asyncio.timeout(timeout):
                await asyncio.shield(self._send_ping())
        except TimeoutError:
            raise Disconnected(f"no PINGRESP within {timeout:g} s") from None
        await self.flush()  # raises where the connection ended instead
        return self._loop.time() - began

    def stop_reading(self) -> None:
        """Leave incoming data in the socket."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """End `stop_reading`."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def silence(self) -> None:
        """Send no pings any more."""
        if self._ping_timer is not None:
            self._ping_timer.cancel()

    async def close(self) -> None:
        """DISCONNECT, and the end of the connection (esp_mqtt_client_stop)."""
        self._ours = True
        self.resume_reading()
        if self.open and self._transport is not None:
            self.write(mqtt.DISCONNECT)
            self._transport.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END):
                    await self.closed.wait()
        self.end()

    def end(self) -> None:
        """End the connection at once, by the device's own will."""
        self._ours = True
        if self._transport is not None:
            self._transport.abort()
        else:
            self.closed.set()

    def abort(self, how: HardClose) -> None:
        """Lose the connection without DISCONNECT: by RST, or by FIN."""
        if self._transport is None:
            return
        raw = self._transport.get_extra_info("socket")
        if how == "reset" and raw is not None:
            # Linger of zero seconds: close() sends RST and drops what is unsent (socket(7)).
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._reason = f"the device's network failed ({how})"
        self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is connected."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("not a stream")
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Bytes from the broker."""
        try:
            for packet in self._reader.feed(data):
                self._received(packet)
        except mqtt.MqttError as error:
            self._give_up(f"malformed data from the broker: {error}")

    def pause_writing(self) -> None:
        """The transport's buffer is full."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """The transport's buffer has room."""
        self._may_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        was_open, self.open = self.open, False
        self.silence()
        self._may_write.set()
        if exc is not None:
            self._reason = str(exc) or type(exc).__name__
        if not self._accepted.done():
            self._accepted.set_result(-1)
        if self._pong is not None and not self._pong.done():
            self._pong.set_result(None)
        self.closed.set()
        if was_open and not self._ours:
            self._observer.on_lost(self._reason)

    def _received(self, packet: mqtt.Packet) -> None:
        if packet.kind is mqtt.Kind.PUBLISH and self.open:
            message = mqtt.read_publish(packet)
            if message.qos:
                self.write(mqtt.puback(message.packet_id))
            self._observer.on_publish(message.payload)
        elif packet.kind is mqtt.Kind.PINGRESP and self._pong is not None:
            if not self._pong.done():
                self._pong.set_result(None)
        elif packet.kind is mqtt.Kind.CONNACK and not self._accepted.done():
            code = mqtt.read_connack(packet.body)
            self._accepted.set_result(code)
            self.open = code == 0  # what follows in the same segment is heard
        elif packet.kind is not mqtt.Kind.SUBACK:
            raise mqtt.MqttError(f"unexpected {packet.kind.name}")

    def _give_up(self, reason: str) -> None:
        self._reason = reason
        if self._transport is not None:
            self._transport.abort()

    def _send_ping(self) -> asyncio.Future[None]:
        if self._pong is None or self._pong.done():
            self._pong = self._loop.create_future()
        self.write(mqtt.PINGREQ)
        return self._pong

    def _schedule_ping(self, *, again: bool = False) -> None:
        """Ping each half keepalive; the answer to one is due before the next but one."""
        self._ping_timer = self._loop.call_later(self._keepalive / 2, self._ping, again)

    def _ping(self, again: bool) -> None:
        if again and self._pong is not None and not self._pong.done():
            self._give_up("no PINGRESP within the keepalive time")
            return
        unanswered = self._pong is not None and not self._pong.done()
        if not unanswered:
            self._pong = self._send_ping()
        self._schedule_ping(again=unanswered)
