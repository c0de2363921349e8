"""The MQTT server that devices connect to. It delivers to devices that never subscribe.

A connection is one protocol object and no task; one timer looks after all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from vixio.core.metrics import Counters
from vixio.transports.admission.limits import Limits
from vixio.transports.admission.listener import (
    BACKLOG,
    NO_DESCRIPTORS,
    Listener,
    descriptor_ceiling,
)
from vixio.transports.admission.port_errors import port_error
from vixio.transports.xiaozhi.mqtt.link import MqttLink, MqttOwner
from vixio.transports.xiaozhi.mqtt.packets import ConnectCode, connack
from vixio.transports.xiaozhi.websocket.link import READ_BYTES

__all__ = ["ConnectCode", "MqttLink", "MqttListener"]

TICK_S = 1.0
"""Between two looks at all connections: 0.1 ms for a thousand."""
SLOW_CONNECT_S = 2.0
"""After it a connection without a CONNECT may give way to another one."""

_log = logging.getLogger(__name__)


class MqttListener:
    """One port. ``refused``: logs a reason, an address and a device, as ``Admission.refused``."""

    def __init__(
        self,
        host: str,
        port: int,
        owner: MqttOwner,
        *,
        counters: Counters,
        refused: Callable[[str, str, str], None],
        limits: Limits | None = None,
        shared: bool = False,
    ) -> None:
        self.owner = owner
        self.counters = counters
        self.refused = refused
        self.limits = limits or Limits()
        self.read_buffer = bytearray(READ_BYTES)
        self.loop: asyncio.AbstractEventLoop
        self._host = host
        self._port = port
        self._shared = shared
        self._server: asyncio.Server | None = None
        self._stopping = False
        self._links: set[MqttLink] = set()
        self._connecting: dict[MqttLink, None] = {}  # the oldest first
        self._timer: asyncio.TimerHandle | None = None

    @property
    def port(self) -> int:
        """The port that is listened on, also where the settings say 0."""
        if self._server is not None:
            self._port = self._server.sockets[0].getsockname()[1]
        return self._port

    async def start(self) -> None:
        """Listen. Raises ConfigError if the port is taken."""
        self.loop = asyncio.get_running_loop()
        self._stopping = False
        try:
            listener = Listener(
                self._host,
                self._port,
                self._no_descriptor,
                shared=self._shared,
                answer=connack(ConnectCode.UNAVAILABLE),
            )
            self._server = await self.loop.create_server(
                self.make_link, sock=listener, backlog=BACKLOG
            )
        except OSError as error:
            raise port_error(self._host, self._port, "mqtt.port", error) from None
        _log.info("listening for devices over MQTT", extra={"host": self._host, "port": self.port})

    async def stop(self) -> None:
        """Close all connections and free the port. Idempotent."""
        server, self._server = self._server, None
        if server is None:
            return
        self._stopping = True
        server.close()
        await asyncio.gather(*(link.close() for link in self._links))
        await server.wait_closed()

    def make_link(self) -> MqttLink:
        """Return the protocol of a new connection."""
        return MqttLink(self)

    def problem(self) -> str:
        """Return why devices cannot be served, for readiness; empty: they can."""
        return ""

    # ── what links call ─────────────────────────────────────────────────────────────────────────

    def connected(self, link: MqttLink, descriptor: int) -> None:
        """Take a new connection, or turn it away."""
        if self._stopping:  # it was accepted just before the port was closed
            link.abort()
            return
        if descriptor >= descriptor_ceiling():
            self._no_descriptor()
            link.turn_away(ConnectCode.UNAVAILABLE)
            return
        if not self._has_room(link.last_heard):
            self.counters.add("mqtt.refused.handshakes")
            self.refused("mqtt_handshakes", link.peer, "")
            link.turn_away(ConnectCode.UNAVAILABLE)
            return
        tracked = self.owner.arrived(link.peer)
        if tracked is None:
            link.turn_away(ConnectCode.UNAVAILABLE)
            return
        link.tracked = tracked
        self._links.add(link)
        self._connecting[link] = None
        if self._timer is None:
            self._timer = self.loop.call_later(TICK_S, self._tick)

    def answered(self, link: MqttLink) -> None:
        """The CONNECT of a link has arrived."""
        self._connecting.pop(link, None)

    def disconnected(self, link: MqttLink) -> None:
        """Forget a connection."""
        if link in self._links:
            self._links.discard(link)
            self._connecting.pop(link, None)
            self.owner.left(link.tracked)

    def _has_room(self, now: float) -> bool:
        if not 0 < self.limits.handshakes <= len(self._connecting):
            return True
        oldest = next(iter(self._connecting))
        if now - oldest.last_heard < SLOW_CONNECT_S:
            return False
        self.counters.add("mqtt.refused.slow_connect")
        del self._connecting[oldest]
        oldest.abort()
        return True

    def _no_descriptor(self) -> None:
        self.counters.add(NO_DESCRIPTORS.counter("admission"))
        self.refused(NO_DESCRIPTORS.reason, "", "")

    def _tick(self) -> None:
        now = self.loop.time()
        for link in tuple(self._links):
            link.look(now)
        self._timer = self.loop.call_later(TICK_S, self._tick) if self._links else None
