"""Devices at a broker that subscribes for them: EMQX, as docs/devices.md configures it.

The broker asks over HTTP whether a device may connect (:meth:`Direct.may_connect`), and publishes,
retained, who is connected: :data:`PRESENCE_TOPIC` and a client id, with the event, the address and
the user name as text. A device whose check this process has not seen, since it connected before,
is disconnected: it connects again by itself, and is checked.

The server disconnects one by taking its client id over, for which MQTT needs no other interface.
"""

from __future__ import annotations

import asyncio
import hmac
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError
from vixio.core.errors import ConnectionClosed
from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait
from vixio.transports.admission.connection_tracker import TrackedConnection
from vixio.transports.admission.identity import UP_TOPIC, Identity
from vixio.transports.admission.limits import Limits
from vixio.transports.xiaozhi.mqtt.broker import Broker, BrokerConnection, dial
from vixio.transports.xiaozhi.mqtt.link import (
    CLIENT_ID,
    DOWN_TOPIC,
    GONE,
    TOO_MUCH,
    MqttOwner,
)
from vixio.transports.xiaozhi.mqtt.packets import Connect, ConnectCode, Publish
from vixio.transports.xiaozhi.protocol import MAX_MESSAGE_BYTES
from vixio.transports.xiaozhi.websocket.quota import InputQuota, Verdict

PRESENCE_TOPIC: Final = "vixio/presence/"
CONNECTED: Final = "client.connected"
DISCONNECTED: Final = "client.disconnected"

VOUCHED_S: Final = 30.0
"""From a device's check to the broker's word that it is connected."""
KICK_S: Final = 5.0
MAX_KICKS: Final = 64
"""At a time; further ones wait for the device's next word."""
MAX_KNOWN: Final = 20_000
MAX_PAUSED: Final = 64
"""Messages that are taken while the owner wants none: nothing stops a broker's for one device."""


class DirectLink:
    """One device, connected to the broker. Its interface is that of a device that connects here."""

    identity: Identity
    own_host = ""

    def __init__(
        self, server: Direct, login: tuple[str, str, str], tracked: TrackedConnection
    ) -> None:
        self.client_id, self.username, self.password = login
        self.tracked = tracked
        self.peername = ""
        """Address and port of the device at the broker: they tell its connections apart."""
        self.over = False
        self._server = server
        self._quota = InputQuota(server.limits)
        self._paused: int | None = None

    @property
    def last_heard(self) -> float:
        """When the broker answered: it knows whether the device does, and says so."""
        return self._server.broker.heard

    def publish(self, *payloads: bytes) -> bool:
        """Send a message; false, and nothing is sent, if it would have to wait."""
        topic = DOWN_TOPIC + self.client_id
        return not self.over and self._server.broker.publish(topic, *payloads)

    async def writable(self) -> None:
        """Wait until :meth:`publish` may succeed. Raises ConnectionClosed if it never will."""
        await self._server.broker.writable()
        if self.over:
            raise ConnectionClosed("the device is gone")

    def pause_reading(self) -> None:
        """Take few messages more, then none."""
        self._paused = 0

    def resume_reading(self) -> None:
        """Take messages again."""
        self._paused = None

    async def close(self) -> None:
        """Disconnect the device. Bounded, idempotent."""
        if self._server.end(self, "closed"):
            await self._server.kick(self.client_id)

    def abort(self) -> None:
        """The same, behind this call."""
        if self._server.end(self, "closed"):
            self._server.kick_soon(self.client_id)

    def received(self, payload: bytes) -> None:
        """Take a message of the device, or end the connection of one that sends too much."""
        verdict = self._quota.judge_message(len(payload), asyncio.get_running_loop().time())
        if self._paused is not None:
            self._paused += 1
        if verdict is Verdict.CLOSE or (self._paused or 0) > MAX_PAUSED:
            self._server.counters.add(f"mqtt.closed.{TOO_MUCH}")
            self._server.refused(f"mqtt_{TOO_MUCH}", self.tracked.address, self.client_id)
            self.abort()
        elif verdict is Verdict.TAKE and len(payload) <= MAX_MESSAGE_BYTES:
            self._server.owner.received(self, payload)
        else:
            self._server.counters.add("mqtt.broker.dropped")


class Direct:
    """In the place of a listener: devices by the broker's word.

    Counters: those of :class:`Broker`; ``mqtt.broker.kicked``, ``mqtt.broker.dropped``.
    """

    def __init__(
        self,
        address: BrokerAddress,
        port: int,
        owner: MqttOwner,
        *,
        counters: Counters,
        refused: Callable[[str, str, str], None],
        limits: Limits,
    ) -> None:
        self.owner = owner
        self.counters = counters
        self.refused = refused
        self.limits = limits
        self.port = port
        self._address = address
        topics = [f"{UP_TOPIC}+", f"{PRESENCE_TOPIC}+"]
        self.broker = Broker(address, topics, self._took, counters)
        self.broker.watchers.append(self._changed)
        self._links: dict[str, DirectLink] = {}
        self._vouched: dict[str, tuple[DirectLink, asyncio.TimerHandle]] = {}
        self._known: OrderedDict[str, tuple[str, str]] = OrderedDict()
        """User name and password of devices that were checked, by client id."""
        self._kicks: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Do nothing: the broker cannot ask yet."""

    async def begin(self) -> None:
        """Begin to connect to the broker."""
        await self.broker.start()

    async def stop(self) -> None:
        """End all links. Devices stay connected to the broker. Idempotent."""
        for link in tuple(self._links.values()):
            self.end(link, "closed")
        for client_id in tuple(self._vouched):
            self._forget(client_id)
        await cancel_and_wait(*self._kicks.values())
        await self.broker.close()

    def problem(self) -> str:
        """Return why devices cannot be served, for readiness; empty: they can."""
        return self.broker.problem()

    def may_connect(self, client_id: str, username: str, password: str, peer: str) -> bool:
        """Return whether the broker may admit a client. The server itself is one of them."""
        if username == self._address.user:
            return hmac.compare_digest(password.encode(), self._address.password.encode())
        if not CLIENT_ID.fullmatch(client_id):
            self.refused("mqtt_client_id", peer, "")
            return False
        link = self._admitted((client_id, username, password), peer)
        if link is None:
            return False
        self._forget(client_id)
        timer = asyncio.get_running_loop().call_later(VOUCHED_S, self._forget, client_id)
        self._vouched[client_id] = (link, timer)
        self._known[client_id] = (username, password)
        self._known.move_to_end(client_id)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return True

    def end(self, link: DirectLink, why: str) -> bool:
        """End a link; false: it had ended."""
        if link.over:
            return False
        link.over = True
        if self._links.get(link.client_id) is link:
            del self._links[link.client_id]
        self.owner.ended(link, why)
        self.owner.left(link.tracked)
        return True

    def kick_soon(self, client_id: str) -> None:
        """Disconnect a client, whoever it is, behind this call."""
        if client_id not in self._kicks and len(self._kicks) < MAX_KICKS:
            task = self._kicks[client_id] = asyncio.create_task(self._kick(client_id))
            task.add_done_callback(lambda _: self._kicks.pop(client_id, None))

    async def kick(self, client_id: str) -> None:
        """Disconnect a client. Bounded."""
        self.kick_soon(client_id)
        if (task := self._kicks.get(client_id)) is not None:
            await asyncio.wait((task,))

    async def _kick(self, client_id: str) -> None:
        self.counters.add("mqtt.broker.kicked")
        login = Connect(client_id, self._address.user, self._address.password, 0)
        with suppress(BrokerError, OSError, TimeoutError):
            async with asyncio.timeout(KICK_S):
                connection = await dial(
                    self._address,
                    lambda: BrokerConnection(login, (), lambda _took: None, lambda _why: None),
                )
            connection.close()

    def _admitted(self, login: tuple[str, str, str], peer: str) -> DirectLink | None:
        """Check a device. What is returned is counted as an arrival until it leaves."""
        tracked = self.owner.arrived(peer)
        if tracked is None:
            return None
        link = DirectLink(self, login, tracked)
        if self.owner.admit(link) is ConnectCode.ACCEPTED:
            return link
        self.owner.left(tracked)
        return None

    def _forget(self, client_id: str) -> None:
        """A device that was checked has not come."""
        if (vouched := self._vouched.pop(client_id, None)) is not None:
            vouched[1].cancel()
            self.owner.left(vouched[0].tracked)

    def _took(self, message: Publish) -> None:
        if message.topic.startswith(PRESENCE_TOPIC):
            client_id = message.topic.removeprefix(PRESENCE_TOPIC)
            words = message.payload.decode("utf-8", "replace").split(" ", 2)
            if len(words) == 3:
                self._present(client_id, *words, retained=message.retained)
            return
        client_id = message.topic.removeprefix(UP_TOPIC)
        if message.retained:
            self.counters.add("mqtt.broker.dropped")
        elif (link := self._links.get(client_id)) is not None:
            link.received(message.payload)
        else:  # a device that believes to have a session
            self.kick_soon(client_id)

    def _present(
        self, client_id: str, event: str, peername: str, username: str, *, retained: bool
    ) -> None:
        link = self._links.get(client_id)
        if event == DISCONNECTED:
            if link is not None and link.peername == peername:
                self._known.pop(client_id, None)
                self.end(link, GONE)
            return
        if event != CONNECTED or username == self._address.user:
            return
        if link is not None:
            if link.peername == peername:
                return
            self.end(link, GONE)
        vouched = self._vouched.pop(client_id, None)
        if vouched is not None:
            vouched[1].cancel()
            link = vouched[0]
        elif (known := self._known.get(client_id)) is not None and known[0] == username:
            link = self._admitted((client_id, *known), peername.rpartition(":")[0])
        elif not retained or "@" not in username:  # another client of the broker, no device
            return
        else:
            link = None
        if link is None:
            self.kick_soon(client_id)
            return
        link.peername = peername
        self._links[client_id] = link
        self.owner.opened(link)

    def _changed(self, up: bool) -> None:
        if not up:
            for link in tuple(self._links.values()):
                self.end(link, "broker")
