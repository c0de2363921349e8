"""The way in: what a connection meets from TCP's accept to its hello.

Every connection gets its tracked and its quota here. Who is refused still sends its request and is
told why, for a moment; a handshake that takes its time makes room for others when room is short.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from vixio.core.metrics import Counters
from vixio.transports.admission.connection_tracker import ConnectionTracker
from vixio.transports.admission.limits import Limits
from vixio.transports.admission.listener import NO_DESCRIPTORS, descriptor_ceiling
from vixio.transports.admission.refusal import busy
from vixio.transports.xiaozhi.websocket.device_socket import DeviceSocket
from vixio.transports.xiaozhi.websocket.quota import InputQuota

SLOW_HANDSHAKE_S = 2.0
"""A device's request and hello come within two round trips. What takes longer keeps nobody out."""

REFUSED_S = 2.0
"""How long who is refused may take to send its request, and so to be told."""

MAX_REFUSED = 256
"""Refused connections that may wait for that at a time; further ones end without a word."""

TOO_MANY_HANDSHAKES = busy("handshakes", "Too many devices connect at once, try again.\n", 2.0)


class Handshakes:
    """The connections of one transport that have not said hello, and the refused ones."""

    def __init__(self, limits: Limits, tracker: ConnectionTracker, counters: Counters) -> None:
        self._limits = limits
        self._tracker = tracker
        self._counters = counters
        self._waiting: dict[DeviceSocket, float] = {}  # since when; the oldest first
        self._refused: dict[DeviceSocket, asyncio.TimerHandle] = {}

    @property
    def handshakes(self) -> int:
        """How many connections have not said hello yet."""
        return len(self._waiting)

    def connected(self, socket: DeviceSocket) -> None:
        """Take note of a new connection."""
        peer = socket.remote_address
        tracked = self._tracker.arrive(str(peer[0]) if peer else "")
        socket.tracked = tracked
        socket.quota = InputQuota(self._limits)
        socket.on_gone = self.gone
        socket.on_dropped = self._dropped
        sock = socket.transport.get_extra_info("socket")
        if sock is not None and sock.fileno() >= descriptor_ceiling():
            tracked.refusal = NO_DESCRIPTORS
        elif tracked.refusal is None and not self._has_room():
            tracked.refusal = TOO_MANY_HANDSHAKES
        if tracked.refusal is None:
            self._waiting[socket] = socket.loop.time()
        elif len(self._refused) < MAX_REFUSED:
            timer = socket.loop.call_later(REFUSED_S, socket.abort)
            self._refused[socket] = timer
        else:
            self._counters.add(tracked.refusal.counter)
            socket.abort()

    def admitted(self, socket: DeviceSocket) -> None:
        """The request is accepted, be it that of a connection which was to be refused."""
        timer = self._refused.pop(socket, None)
        if timer is not None:
            timer.cancel()
            self._waiting[socket] = socket.loop.time()

    def greeted(self, socket: DeviceSocket) -> None:
        """The hello has come."""
        self._waiting.pop(socket, None)

    def gone(self, socket: DeviceSocket) -> None:
        """The connection is over."""
        self._waiting.pop(socket, None)
        timer = self._refused.pop(socket, None)
        if timer is not None:
            timer.cancel()
        self._tracker.leave(socket.tracked)

    def _has_room(self) -> bool:
        if not 0 < self._limits.handshakes <= len(self._waiting):
            return True
        oldest, since = next(iter(self._waiting.items()))
        if oldest.loop.time() - since < SLOW_HANDSHAKE_S:
            return False
        self._counters.add("xiaozhi.limited.slow_handshakes")
        del self._waiting[oldest]
        oldest.abort()
        return True

    def _dropped(self, what: str) -> None:
        self._counters.add(f"xiaozhi.limited.{what.replace(' ', '_')}")


def socket_factory(handshakes: Handshakes) -> Callable[..., DeviceSocket]:
    """Return what makes the sockets that meet ``handshakes``."""

    def make(*args: Any, **kwargs: Any) -> DeviceSocket:  # noqa: ANN401  the library's arguments
        socket = DeviceSocket(*args, **kwargs)
        socket.on_connected = handshakes.connected
        return socket

    return make
