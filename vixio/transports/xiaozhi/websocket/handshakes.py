"""Connections that have not said hello yet, and refused ones: bounded in number and in time.

A refused connection may still send its request, for a moment, to receive the reason. A handshake
that takes long is aborted first when the limit is reached.
"""

from __future__ import annotations

import asyncio

from vixio.core.metrics import Counters
from vixio.transports.admission.limits import Limits
from vixio.transports.admission.listener import NO_DESCRIPTORS, descriptor_ceiling
from vixio.transports.admission.refusal import busy
from vixio.transports.xiaozhi.websocket.channel import WebSocketChannel

SLOW_HANDSHAKE_S = 2.0
"""A device's request and hello come within two round trips. Slower ones may be aborted when the
limit is reached."""

REFUSED_S = 2.0
"""How long a refused connection may take to send its request, to which the reason is the answer."""

MAX_REFUSED = 256
"""Refused connections that may wait for that at a time; further ones are aborted."""

TOO_MANY_HANDSHAKES = busy("handshakes", "Too many devices connect at once, try again.\n", 2.0)


class Handshakes:
    """The handshakes of one port."""

    def __init__(self, limits: Limits, counters: Counters) -> None:
        self._limits = limits
        self._counters = counters
        self._waiting: dict[WebSocketChannel, float] = {}  # since when; the oldest first
        self._refused: dict[WebSocketChannel, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def connected(self, channel: WebSocketChannel) -> None:
        """Take a new connection; sets its refusal if there is no room."""
        tracked = channel.tracked
        sock = channel.tcp.get_extra_info("socket")
        if sock is not None and sock.fileno() >= descriptor_ceiling():
            tracked.refusal = NO_DESCRIPTORS
        elif tracked.refusal is None and not self._has_room():
            tracked.refusal = TOO_MANY_HANDSHAKES
        if tracked.refusal is None:
            self._waiting[channel] = channel.loop.time()
        elif len(self._refused) < MAX_REFUSED:
            self._refused[channel] = channel.loop.call_later(REFUSED_S, channel.abort)
        else:
            self._counters.add(tracked.refusal.counter("admission"))
            channel.abort()

    def admitted(self, channel: WebSocketChannel) -> None:
        """The request is accepted, although the connection may have been refused before."""
        timer = self._refused.pop(channel, None)
        if timer is not None:
            timer.cancel()
            self._waiting[channel] = channel.loop.time()

    def greeted(self, channel: WebSocketChannel) -> None:
        """The hello has arrived."""
        self._waiting.pop(channel, None)

    def gone(self, channel: WebSocketChannel) -> None:
        """The connection is over."""
        self._waiting.pop(channel, None)
        timer = self._refused.pop(channel, None)
        if timer is not None:
            timer.cancel()

    def abort_all(self) -> None:
        """End all that have not been admitted."""
        for channel in [*self._waiting, *self._refused]:
            if not channel.is_open:
                channel.abort()

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
