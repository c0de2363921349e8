"""A WebSocket server connection on asyncio: the library's sans-I/O protocol, driven by ours.

``websockets`` does handshake, framing, pongs and the closing handshake
(https://websockets.readthedocs.io/en/stable/howto/sansio.html). This class moves its bytes, bounds
what is buffered in both directions, and bounds the time of the two handshakes. Frames are handed on
the moment they arrive, without a task, a lock or a queue.
"""

from __future__ import annotations

import asyncio
import socket
from abc import abstractmethod

from websockets.frames import Frame
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol

from vixio.core.errors import ConnectionClosed
from vixio.core.waiters import Waiters

READ_BYTES = 2 * 1024
"""Taken from the kernel at a time: some seconds of audio after a stall. 256 KB hold 40,000 tiny
frames, which are parsed without a pause: half a second in which no other device is served."""

SEND_BUFFER_BYTES = 64 * 1024
"""What the kernel may hold for one device, over 15 s of speech. Its own choice is megabytes, which
hides for minutes that a device stopped reading."""

WRITE_HIGH_WATER = 32 * 1024
"""Bytes in the process's own buffer above which a sender waits."""


class WebSocketLink(asyncio.BufferedProtocol):
    """One connection. Subclasses say what becomes of the request, of each frame, and of the end.

    ``open_timeout`` seconds for the request, ``close_timeout`` for the closing handshake: what
    takes longer is aborted. The connections of one event loop share ``read_buffer``: asyncio fills
    it and hands it over in one step, and what is in it is copied before the next one reads.
    """

    last_heard = 0.0
    read_before = b""
    """The request, where another protocol has read it from this connection."""

    def __init__(
        self, max_size: int, read_buffer: bytearray, open_timeout: float, close_timeout: float
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.tcp: asyncio.Transport
        self._protocol = ServerProtocol(max_size=max_size)
        self._read_buffer = read_buffer
        self._open_timeout = open_timeout
        self._close_timeout = close_timeout
        self._timer: asyncio.TimerHandle | None = None
        """Aborts: at first a request that does not come, later a close that is not answered."""
        self._closing = False
        self._full = False
        self._writable = Waiters()
        self._gone = False
        self._end = Waiters()

    # ── for subclasses ──────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def connected(self) -> None:
        """TCP is connected."""

    @abstractmethod
    def requested(self, request: Request) -> Response:
        """Return the answer to a request, made by :meth:`accept` or :meth:`reject`."""

    @abstractmethod
    def opened(self) -> None:
        """The WebSocket is open."""

    @abstractmethod
    def received(self, frame: Frame) -> None:
        """Take a frame."""

    @abstractmethod
    def handshake_failed(self) -> None:
        """What arrived is no valid request for a WebSocket. Called at most once."""

    @abstractmethod
    def ended(self) -> None:
        """Nothing more will come: a close frame, a violation, or TCP is gone. Called repeatedly."""

    @abstractmethod
    def disconnected(self) -> None:
        """TCP is gone. Called once, last."""

    def accept(self, request: Request) -> Response:
        """Return the 101 for a valid request, otherwise the library's refusal."""
        return self._protocol.accept(request)

    def reject(self, status: int, text: str) -> Response:
        """Return a refusal in plain text."""
        return self._protocol.reject(status, text)

    def expect_end(self) -> None:
        """Give the peer ``close_timeout`` to close TCP, and to read what is still buffered.

        Idempotent. Nothing is sent after it.
        """
        if self._closing:
            return
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(self._close_timeout, self.abort)

    # ── for the owner ───────────────────────────────────────────────────────────────────────────

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent and received."""
        return self._protocol.state is State.OPEN

    @property
    def is_handshaking(self) -> bool:
        """Whether no request has been accepted so far."""
        return self._protocol.state is State.CONNECTING

    @property
    def is_answered(self) -> bool:
        """Whether the server has sent its last bytes and waits for the end of TCP."""
        return self._closing

    def send_now(self, *messages: str | bytes) -> bool:
        """Send messages without waiting; false, and nothing is sent, if it would have to wait."""
        protocol = self._protocol
        if self._full or protocol.state is not State.OPEN or self.tcp.is_closing():
            return False
        for data in messages:
            if isinstance(data, str):
                protocol.send_text(data.encode())
            else:
                protocol.send_binary(data)
        self._flush()
        return True

    async def writable(self) -> None:
        """Wait until :meth:`send_now` may succeed. Raises ConnectionClosed if it never will."""
        while self._full:
            await self._writable.wait()
        if not self.is_open or self.tcp.is_closing():
            raise ConnectionClosed("the device is gone")

    def ping(self) -> None:
        """Send a ping, unless the peer is not reading. Its pong sets ``last_heard``."""
        if self.is_open and not self._full:
            self._protocol.send_ping(b"")
            self._flush()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close with the closing handshake, by force after ``close_timeout``. Idempotent."""
        if self.is_open:
            # A reason has at most 123 bytes (RFC 6455 §5.5).
            self._protocol.send_close(code, reason.encode()[:123].decode("utf-8", "ignore"))
            self._flush()
        elif not self._closing:
            self.abort()
        while not self._gone:
            await self._end.wait()

    def abort(self) -> None:
        """End the TCP connection at once, whatever is still buffered."""
        self.tcp.abort()

    # ── asyncio's callbacks ─────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Bound what is buffered, and the time until the request."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  a stream's transport is one
        self.tcp = transport
        transport.set_write_buffer_limits(high=WRITE_HIGH_WATER)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self._timer = self.loop.call_later(self._open_timeout, self.abort)
        self.connected()
        if self.read_before and not self.tcp.is_closing():
            self.last_heard = self.loop.time()
            self.feed(bytearray(self.read_before))

    def get_buffer(self, sizehint: int) -> bytearray:
        """Return where the next bytes are to be written."""
        return self._read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take the bytes that were written."""
        self.last_heard = self.loop.time()
        self.feed(self._read_buffer[:nbytes])

    def feed(self, data: bytearray) -> None:
        """Parse what arrived, answer it, and hand its frames on."""
        protocol = self._protocol
        failed = protocol.handshake_exc is not None
        protocol.receive_data(data)
        for event in protocol.events_received():
            if isinstance(event, Frame):
                self.received(event)
            elif isinstance(event, Request):
                self._answer(event)
        if protocol.handshake_exc is not None and not failed:
            self.handshake_failed()
        self._flush()
        if protocol.state in {State.CLOSING, State.CLOSED}:
            self.ended()

    def end_writing(self) -> None:
        """Say that nothing more is sent."""
        try:
            self.tcp.write_eof()
        except OSError:  # the peer has reset the connection, which the loop has not seen yet
            self.tcp.abort()

    def eof_received(self) -> None:
        """The peer sends no more; asyncio closes TCP when what is buffered has been sent."""
        opened = self._protocol.state is not State.CONNECTING
        self._protocol.receive_eof()
        self._flush()
        self.expect_end()
        if opened:
            self.ended()

    def pause_writing(self) -> None:
        """Make senders wait."""
        self._full = True

    def resume_writing(self) -> None:
        """Let senders go on."""
        self._full = False
        self._writable.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all waits."""
        self._protocol.receive_eof()
        self._protocol.data_to_send()  # TCP is gone
        if self._timer is not None:
            self._timer.cancel()
        self.resume_writing()
        self._gone = True
        self._end.wake()
        self.ended()
        self.disconnected()

    def _answer(self, request: Request) -> None:
        if self._protocol.close_expected():
            # What followed the request in the same bytes is invalid: there is no way to answer.
            self.abort()
            return
        response = self.requested(request)
        self._protocol.send_response(response)
        self._flush()
        # The library's parser holds the request for as long as the connection lasts.
        request.headers.clear()
        if self.is_open:
            if self._timer is not None:
                self._timer.cancel()
            self.opened()

    def _flush(self) -> None:
        frames = self._protocol.data_to_send()
        if frames and not self.tcp.is_closing():
            if data := b"".join(frames):  # by one system call
                self.tcp.write(data)
            if not frames[-1] and self.tcp.can_write_eof():  # the library's sign for the end
                self.end_writing()
        if self._protocol.close_expected():
            self.expect_end()
