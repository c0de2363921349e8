"""Bounds HTTP connections in number, in time, and in the size of a request's head.

uvicorn itself waits without end for a request that does not come, or comes a byte at a time.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar

import h11
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from vixio.transports.admission.admission import STOPPING, Admission
from vixio.transports.admission.connection_tracker import ConnectionTracker, TrackedConnection
from vixio.transports.admission.listener import NO_DESCRIPTORS, descriptor_ceiling
from vixio.transports.admission.refusal import Refusal
from vixio.web.http.upgrade import Upgrades, request_bytes

REQUEST_S = 10.0
"""For a whole request, head and body, from the connect or the end of the last answer."""

STALL_S = 30.0
"""For a client to take what is buffered of an answer, at most 64 KB."""

LAST_S = 1.0
"""The same when the server stops, and for the rest of a request's body."""

STOP_S = 2
"""For all answers when the server stops; then requests are cancelled."""

KEEP_ALIVE_S = 5
MAX_CONNECTIONS = 512
"""Of all addresses; further requests get 503."""

MAX_HEAD_BYTES = 16 * 1024
"""Of a request, usually 500 bytes."""

BACKLOG = 256

EARLY = Refusal(
    HTTPStatus.BAD_REQUEST,
    "early_frames",
    "A WebSocket begins when the server has answered (RFC 6455 section 4.1).\n",
)

TWO_LENGTHS = Refusal(
    HTTPStatus.BAD_REQUEST,
    "two_lengths",
    "A request has Transfer-Encoding or Content-Length, not both (RFC 9112 section 6.1).\n",
)

_log = logging.getLogger("uvicorn.error.connections")
# uvicorn logs each malformed request, so clients could fill the log. They are counted instead.
_log.setLevel(logging.ERROR)


@dataclass(slots=True)
class Ending:
    """The end of a server. ``cut_off``: requests that got no answer, or not the whole of it."""

    begun: bool = False
    cut_off: int = 0


class GuardedProtocol(H11Protocol):
    """One HTTP connection; :func:`guarded` sets tracker, admission, upgrades and ending."""

    tracker: ClassVar[ConnectionTracker]
    admission: ClassVar[Admission]
    upgrades: ClassVar[Upgrades | None]
    ending: ClassVar[Ending]
    waiting: ClassVar[dict[GuardedProtocol, None]]
    """Those whose request is awaited, in the order in which that began."""

    handed_over = False
    """Whether the connection is another protocol's: nothing of it is touched any more."""

    _refused = False
    """Whether all is said, and what the client still sends is not read."""

    _tracked: TrackedConnection | None = None
    _timer: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  the base's arguments
        super().__init__(*args, **kwargs)
        self.logger = _log
        self._application = self.app
        self.app = self._answer

    def send_400_response(self, msg: str) -> None:
        self.admission.counters.add("http.refused.malformed")
        super().send_400_response(msg)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base
        super().connection_made(transport)
        self._tracked = tracked = self.tracker.arrive(self.client[0] if self.client else "")
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.fileno() >= descriptor_ceiling():
            self._refuse(NO_DESCRIPTORS)
        elif tracked.refusal is not None:
            self._refuse(tracked.refusal)
        else:
            self._make_room()
            self._watch()

    def _make_room(self) -> None:
        """Where all places are taken, the one that has been waited for longest gives its up.

        Requests that never end could keep all others out else, a whole timeout at a time.
        """
        full = 0 < (self.limit_concurrency or 0) <= len(self.connections)
        if full and (oldest := next(iter(self.waiting), None)) is not None:
            oldest.give_way()

    def give_way(self) -> None:
        """Leave the place to another connection: no request has come."""
        self.admission.counters.add("http.limited.gave_way")
        self._let_go()
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._refused or self.transport.is_closing():
            return
        super().data_received(data)
        self._watch()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection over to the protocol of the path, or refuse it."""
        upgrades = self.upgrades
        assert upgrades is not None  # noqa: S101  else uvicorn is given no protocol for WebSockets
        path = self.scope["raw_path"].decode("ascii")
        request = request_bytes(event.method, event.target, self.headers)
        protocol = EARLY if self.conn.trailing_data[0] else upgrades.make(path, request)
        if isinstance(protocol, Refusal):
            self._refuse(protocol)
            return
        transport, flow = self.transport, self.flow
        self._unset_keepalive_if_required()
        self._let_go()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        if flow.write_paused:  # by an answer before this request, which is not all taken yet
            protocol.pause_writing()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._let_go()

    def _let_go(self) -> None:
        """End what belongs to the connection here: its place among the others, and its timers."""
        self.handed_over = True
        self.connections.discard(self)
        self._stop_watching()
        self._stop_stall()
        if self._tracked is not None:
            self.tracker.leave(self._tracked)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_stall()
        self._stall = self.loop.call_later(STALL_S, self._stalled)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_stall()

    def shutdown(self) -> None:
        """The server stops: end what is idle. A request has :data:`LAST_S` for its body."""
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._turn_away()  # in the middle of a head
            self.transport.close()
        else:
            super().shutdown()
            self.loop.call_later(LAST_S, self._end_waiting)

    def cut_off(self) -> None:
        """The time for answers is over: end the request, with a refusal if it has no answer."""
        cycle = self._request
        if cycle is None or cycle.response_started or self._refused:
            unsent = cycle is not None and not cycle.response_complete
            if not self._refused and (unsent or self.transport.get_write_buffer_size()):
                self._count_cut_off()
            self.transport.abort()  # close() would wait for the client
        elif not self.transport.is_closing():
            self._turn_away()
            self.transport.close()
        self._disconnect()

    @property
    def _request(self) -> RequestResponseCycle | None:
        """The last request, answered or not."""
        # None until the first one arrives, whatever the annotation says.
        return self.cycle

    def _end_waiting(self) -> None:
        cycle = self._request
        if self._stall is not None:
            self.transport.abort()
        elif cycle is not None and cycle.more_body and not cycle.response_started:
            self._turn_away()
            self._disconnect()

    def _turn_away(self) -> None:
        """Answer that the server stops. The rest of what the client sends is read, and dropped:
        closed with bytes unread, TCP resets a connection, and the answer can be lost."""
        self._count_cut_off()
        self._stop_watching()
        self._refused = True
        self.transport.write(STOPPING.raw())
        try:
            self.transport.write_eof()
        except OSError:  # the client has reset the connection, which the loop has not seen yet
            self.transport.abort()
        else:
            self.flow.resume_reading()

    def _disconnect(self) -> None:
        """Have the application read and send no more, as if the client were gone."""
        if (cycle := self._request) is not None:
            cycle.disconnected = True
            cycle.message_event.set()
            self.flow.resume_writing()

    def _count_cut_off(self) -> None:
        self.ending.cut_off += 1
        self.admission.counters.add(STOPPING.counter("http"))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application. That its client is gone is no error, nor that the server stops."""
        cycle = self.cycle
        if {b"transfer-encoding", b"content-length"} <= {name for name, _ in scope["headers"]}:
            self._refuse(TWO_LENGTHS)
            return
        try:
            await self._application(scope, receive, send)
        except ClientDisconnect:
            if not cycle.disconnected:
                raise
        except asyncio.CancelledError:
            if not self.ending.begun:
                raise
            if not self.transport.is_closing():
                self.cut_off()

    def _refuse(self, refusal: Refusal) -> None:
        self.admission.counters.add(refusal.counter("http"))
        self.admission.refused(f"http_{refusal.reason}", self.client[0] if self.client else "")
        self._stop_watching()
        self.transport.write(refusal.raw())
        self.transport.close()

    def _watch(self) -> None:
        """Run the timer while a request is awaited, not while it is answered."""
        if self.handed_over:
            return
        cycle = self._request
        awaited = cycle is None or cycle.response_complete or cycle.more_body
        if not awaited or self.transport.is_closing():
            self._stop_watching()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_S, self._too_slow)
            self.waiting[self] = None

    def _stop_watching(self) -> None:
        self.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _stalled(self) -> None:
        self._stall = None
        self.admission.counters.add("http.limited.stalled")
        self.transport.abort()  # close() would wait for the client to take the rest

    def _too_slow(self) -> None:
        self._timer = None
        self.waiting.pop(self, None)
        self.admission.counters.add("http.limited.slow")
        self.transport.abort()


def guarded(
    tracker: ConnectionTracker, admission: Admission, upgrades: Upgrades | None = None
) -> type[GuardedProtocol]:
    """Return the protocol class of a server whose connections ``tracker`` counts.

    ``upgrades``: the WebSockets of its port; None: it has none.
    """

    class Protocol(GuardedProtocol):
        pass

    Protocol.tracker = tracker
    Protocol.admission = admission
    Protocol.upgrades = upgrades
    Protocol.ending = Ending()
    Protocol.waiting = {}
    return Protocol
