"""The MQTT port in front of a broker: checks devices, and subscribes for them.

No broker delivers to a client that never subscribes, and the firmware never does. So each admitted
device gets a connection to the broker, under its client id and the front's login: its own
password is a token, which no broker can check. What it publishes comes back to the server from the
broker, over the server's connection; what the server publishes reaches it the same way.

Nothing of the device's CONNECT reaches the broker but its client id, and no topic but its own two.
The broker is to forbid the rest as well: docs/devices.md has the rules.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import Any, Final

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError
from vixio.core.waiters import Waiters
from vixio.transports.admission.identity import UP_TOPIC
from vixio.transports.xiaozhi.mqtt.broker import Broker, BrokerConnection, dial
from vixio.transports.xiaozhi.mqtt.link import DOWN_TOPIC, MqttLink, State
from vixio.transports.xiaozhi.mqtt.listener import MqttListener
from vixio.transports.xiaozhi.mqtt.packets import (
    PINGREQ,
    BadPacket,
    Connect,
    ConnectCode,
    Kind,
    Packet,
    Publish,
    publish,
)

JOIN_S: Final = 5.0
"""For the connection to the broker: half of what the firmware waits for its CONNACK."""
FLUSH_S: Final = 0.5
"""For the last messages to a device to come back from the broker, before its connection ends."""
BROKER: Final = "broker"
"""Reason of an end: the device's connection to the broker, or the server's, was lost."""


class FrontLink(MqttLink):
    """A device's connection, with one to the broker."""

    def __init__(self, front: Front) -> None:
        super().__init__(front)
        self._front = front
        self._upstream: BrokerConnection | None = None
        self._joining: asyncio.Task[None] | None = None
        self._owed = 0  # messages that were published and have not come back
        self._paid = Waiters()

    def publish(self, *payloads: bytes) -> bool:
        """Send messages; false, and nothing is sent, if it would have to wait."""
        if self._full or self._is_over():
            return False
        if not self._front.broker.publish(DOWN_TOPIC + self.client_id, *payloads):
            return False
        self._owed += len(payloads)
        return True

    async def writable(self) -> None:
        """Wait until :meth:`publish` may succeed. Raises ConnectionClosed if it never will."""
        await super().writable()
        await self._front.broker.writable()

    async def close(self) -> None:
        """Send what is written, then end TCP; by force after a while. Idempotent."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_S):
                while self._owed > 0 and not self._is_over():
                    await self._paid.wait()
        await super().close()

    def leave(self, why: str = "") -> None:
        """End the connection: the broker is gone."""
        if not self._is_over():
            self._front.counters.add(f"mqtt.closed.{BROKER}")
            self._finish(BROKER)

    def pause_writing(self) -> None:
        """Have the broker wait too."""
        super().pause_writing()
        if self._upstream is not None:
            self._upstream.pause_reading()

    def resume_writing(self) -> None:
        """Let all go on."""
        super().resume_writing()
        if self._upstream is not None:
            self._upstream.resume_reading()

    def _accept(self, keepalive: int) -> None:
        self._state = State.JOINING
        self._tcp.pause_reading()
        self._joining = asyncio.create_task(self._join(keepalive))

    async def _join(self, keepalive: int) -> None:
        front = self._front
        try:
            async with asyncio.timeout(JOIN_S):
                self._upstream = await front.join(self, keepalive)
        except (BrokerError, OSError, TimeoutError):
            front.counters.add(f"mqtt.refused.{BROKER}")
            front.refused(f"mqtt_{BROKER}", self.tracked.address, self.client_id)
            self._refuse(ConnectCode.UNAVAILABLE)
            return
        front.links[self.client_id] = self
        super()._accept(keepalive)
        self._tcp.resume_reading()
        self._feed(b"")

    def _take(self, packet: Packet) -> None:
        super()._take(packet)
        if packet.kind == Kind.PINGREQ and self._upstream is not None:
            self._upstream.send(PINGREQ)  # its keepalive is the device's

    def _pass_on(self, payload: bytes) -> None:
        message = publish((UP_TOPIC + self.client_id).encode(), payload)
        if self._upstream is None or not self._upstream.send(message):
            raise BadPacket("broker_full")

    def took(self, message: Publish) -> None:
        """Take a message for the device from the broker."""
        if message.retained or message.topic != DOWN_TOPIC + self.client_id:
            self._front.counters.add("mqtt.broker.dropped")
            return
        self._owed -= 1
        self._paid.wake()
        if self._state is State.OPEN and not self._is_over():
            self._tcp.write(publish(message.topic.encode(), message.payload))

    def _end(self, why: str) -> None:
        super()._end(why)
        self._paid.wake()
        if self._joining is not None and self._upstream is None:
            self._joining.cancel()
        if self._upstream is not None:
            self._upstream.close()
        if self._front.links.get(self.client_id) is self:
            del self._front.links[self.client_id]


class Front(MqttListener):
    """The port, and the server's connection to the broker. ``user`` and ``password``: of devices.

    Counters: those of the listener and of :class:`Broker`; ``mqtt.broker.dropped``: messages from
    the broker that are of another time or topic.
    """

    def __init__(
        self,
        address: BrokerAddress,
        user: str,
        password: str,
        *args: Any,  # noqa: ANN401 - as of the listener
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **options)
        self.broker = Broker(address, [f"{UP_TOPIC}+"], self._took, self.counters, self._try_device)
        self.broker.watchers.append(self._changed)
        self.links: dict[str, FrontLink] = {}
        """By client id. Of two with the same, the broker ends the older one's connection."""
        self._address = address
        self._user = user
        self._password = password

    async def start(self) -> None:
        """Listen, and begin to connect to the broker. Raises ConfigError if the port is taken."""
        await super().start()
        await self.broker.start()

    async def stop(self) -> None:
        """Close all connections and free the port. Idempotent."""
        await super().stop()
        await self.broker.close()

    def make_link(self) -> MqttLink:
        """Return the protocol of a new connection."""
        return FrontLink(self)

    def problem(self) -> str:
        """Return why devices cannot be served, for readiness; empty: they can."""
        return self.broker.problem()

    async def join(self, link: FrontLink, keepalive: int) -> BrokerConnection:
        """Return the connection to the broker for a device. Raises BrokerError, OSError."""
        if not self.broker.connected:
            raise BrokerError("the server itself is not connected")
        login = Connect(link.client_id, self._user, self._password, keepalive)
        topic = DOWN_TOPIC + link.client_id
        return await dial(
            self._address, lambda: BrokerConnection(login, [topic], link.took, link.leave)
        )

    async def _try_device(self) -> None:
        """Log in as a device. Raises BrokerError, OSError: then none of them can be served."""
        name = f"vixio-{secrets.token_hex(8)}"
        login = Connect(name, self._user, self._password, 0)
        try:
            connection = await dial(
                self._address,
                lambda: BrokerConnection(
                    login, [DOWN_TOPIC + name], lambda _message: None, lambda _why: None
                ),
            )
        except BrokerError as error:
            raise BrokerError(f"as a device: {error}", final=error.final) from None
        connection.close()

    def _took(self, message: Publish) -> None:
        if message.retained:
            self.counters.add("mqtt.broker.dropped")
        elif (link := self.links.get(message.topic.removeprefix(UP_TOPIC))) is not None:
            self.owner.received(link, message.payload)

    def _changed(self, up: bool) -> None:
        if not up:
            for link in tuple(self.links.values()):
                link.leave()
