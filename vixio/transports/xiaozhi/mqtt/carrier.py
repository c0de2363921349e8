"""Devices over MQTT and UDP: by the listener, which is a broker, or by one of the operator's."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from vixio.core.tasks import cancel_and_wait
from vixio.transports.admission.admission import Admission
from vixio.transports.admission.connection_tracker import TrackedConnection
from vixio.transports.admission.identity import Identity, read_user_name
from vixio.transports.xiaozhi.channel import Carrier, Serve
from vixio.transports.xiaozhi.mqtt.channel import MqttChannel
from vixio.transports.xiaozhi.mqtt.link import TOO_MUCH, Link
from vixio.transports.xiaozhi.mqtt.listener import ConnectCode, MqttListener
from vixio.transports.xiaozhi.mqtt.udp import UdpPort

if TYPE_CHECKING:
    from vixio.bus.address import BrokerAddress
    from vixio.transports.xiaozhi.mqtt.direct import Direct

SERVE_GRACE_S: Final = 2.0
"""For the sessions of closed devices to end by themselves when the port is closed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MqttSettings:
    """``port``: TCP; ``udp_port``: of the audio; 0 takes any free one.

    ``udp_address``: where devices reach it; empty: by the address that they use for MQTT.
    ``share_port``: other processes listen on ``port`` too.
    """

    host: str = "0.0.0.0"  # noqa: S104  devices come from the local network
    port: int = 1883
    udp_port: int = 8884
    udp_address: str = ""
    share_port: bool = False
    broker: BrokerAddress | None = None
    """None: the listener is the broker. Its login is the server's."""
    device_login: tuple[str, str] | None = None
    """User and password under which devices are connected to the broker; None: they connect to it
    themselves, at ``port``."""


class MqttCarrier(Carrier):
    """Listens for MQTT and audio."""

    def __init__(self, settings: MqttSettings, admission: Admission) -> None:
        self._settings = settings
        self._admission = admission
        self._listener = self._make_listener()
        self._udp = UdpPort(admission.counters, admission.limits)
        self._serve: Serve | None = None
        self._channels: dict[Link, MqttChannel] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def problem(self) -> str:
        """Return why devices cannot be served, for readiness; empty: they can."""
        return self._listener.problem()

    async def begin(self) -> None:
        """Connect to a broker that asks over HTTP about the server itself."""
        if not isinstance(self._listener, MqttListener):
            await self._listener.begin()

    def may_connect(self, client_id: str, username: str, password: str, peer: str) -> bool:
        """Return whether a broker to which devices connect themselves may admit a client."""
        server: MqttListener | Direct = self._listener
        return not isinstance(server, MqttListener) and server.may_connect(
            client_id, username, password, peer
        )

    @property
    def port(self) -> int:
        """The port of MQTT."""
        return self._listener.port

    @property
    def ports(self) -> Sequence[int]:
        """Those of MQTT and of the audio."""
        return (self.port, self._udp.port)

    async def start(self, serve: Serve) -> None:
        """Listen. Raises ConfigError if a port is taken."""
        # The first conversation must not wait for this import.
        from cryptography.hazmat.primitives.ciphers import Cipher  # noqa: F401

        settings = self._settings
        self._serve = serve
        self._admission.resting = lambda: len(self._channels) - len(self._udp)
        await self._udp.start(settings.host, settings.udp_port)
        try:
            await self._listener.start()
        except BaseException:
            await self._udp.stop()
            raise

    async def stop(self) -> None:
        """Close all devices and free the ports. Idempotent."""
        await self._listener.stop()
        if self._tasks:
            _, hanging = await asyncio.wait(self._tasks, timeout=SERVE_GRACE_S)
            await cancel_and_wait(*hanging)
        await self._udp.stop()

    def stats(self) -> dict[str, int]:
        """Return how many devices are connected, and how many of them converse."""
        return {"standing": len(self._channels), "conversing": len(self._udp)}

    # ── what the listener calls ──────────────────────────────────────────────────────────────

    def arrived(self, peer: str) -> TrackedConnection | None:
        """Count a connection."""
        return self._admission.tracker.arrive(peer)

    def admit(self, link: Link) -> ConnectCode:
        """Decide whether the device may connect, as at the WebSocket."""
        client_id, _ = read_user_name(link.username)
        identity = Identity.stated(link.client_id, client_id, link.password)
        refusal = self._admission.check(identity, link.tracked, standing=True)
        if refusal is None:
            link.identity = identity
            return ConnectCode.ACCEPTED
        self._admission.refused(refusal.reason, link.tracked.address, identity.device_id)
        if refusal.status == 401:
            return ConnectCode.BAD_LOGIN
        if refusal.status == 400:
            return ConnectCode.IDENTIFIER_REJECTED
        return ConnectCode.NOT_AUTHORISED if refusal.status == 403 else ConnectCode.UNAVAILABLE

    def opened(self, link: Link) -> None:
        """Serve an admitted device."""
        assert self._serve is not None  # noqa: S101  start() sets it before listening
        identity = link.identity
        _, host = read_user_name(link.username)
        host = self._settings.udp_address or host or link.own_host
        channel = MqttChannel(self, link, identity, self._udp, host)
        self._channels[link] = channel
        self._admission.admit(identity.device_id)
        self._spawn(self._run(self._serve, channel))

    def received(self, link: Link, payload: bytes) -> None:
        """Give a message to its channel."""
        if (channel := self._channels.get(link)) is not None:
            channel.received(payload)

    def ended(self, link: Link, why: str) -> None:
        """Make room for another device."""
        if why == TOO_MUCH:
            self._admission.tracker.penalise(link.tracked)
        channel = self._channels.pop(link)
        self._admission.depart(channel.identity.device_id)
        channel.ended()

    def left(self, tracked: TrackedConnection) -> None:
        """Forget a connection."""
        self._admission.tracker.leave(tracked)

    # ── what channels call ───────────────────────────────────────────────────────────────────

    def cut_off(self, channel: MqttChannel, why: str) -> None:
        """Close a channel that sent too much."""
        self._admission.counters.add("xiaozhi.closed.too_much")
        if channel.listener is None:  # else it has logged it, with its session
            fields = {"device": channel.identity.device_id, "reason": why}
            _log.warning("connection cut off", extra=fields)
        self._admission.tracker.penalise(channel.tracked)
        self._spawn(channel.close())

    def _make_listener(self) -> MqttListener | Direct:
        settings, admission = self._settings, self._admission
        make: Callable[..., MqttListener] = MqttListener
        if settings.broker is not None and settings.device_login is None:
            from vixio.transports.xiaozhi.mqtt.direct import Direct

            return Direct(
                settings.broker,
                settings.port,
                self,
                counters=admission.counters,
                refused=admission.refused,
                limits=admission.limits,
            )
        if settings.broker is not None and settings.device_login is not None:
            from vixio.transports.xiaozhi.mqtt.front import Front

            make = partial(Front, settings.broker, *settings.device_login)
        return make(
            settings.host,
            settings.port,
            self,
            counters=admission.counters,
            refused=admission.refused,
            limits=admission.limits,
            shared=settings.share_port,
        )

    async def _run(self, serve: Serve, channel: MqttChannel) -> None:
        try:
            await serve(channel)
        finally:
            channel.abort()  # nothing is left to do, unless the task was cancelled

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
