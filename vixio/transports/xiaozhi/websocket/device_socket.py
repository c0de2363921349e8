"""The WebSocket of one device: the library's server connection with hooks of ours.

It charges what arrives to the connection's quota, before anything else is done with it; notes when
anything arrived (pongs too); hands MCP answers over the moment they arrive, so that a tool call
returns though nobody reads the socket just then; and mends text that is no UTF-8: tool results
quote things like the name of a Wi-Fi network, and one such byte must not end it all. Messages go to
an inbox of ours, where the library would queue them a second time. Handshake, framing, pings and
the closing handshake are the library's.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.frames import DATA_OPCODES, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State

from vixio.transports.admission.connection_tracker import TrackedConnection
from vixio.transports.admission.refusal import Refusal
from vixio.transports.xiaozhi.websocket.inbox import Inbox
from vixio.transports.xiaozhi.websocket.quota import InputQuota, Verdict

SEND_BUFFER_BYTES = 64 * 1024
"""What the kernel may hold for one device, over 15 s of speech. Its own choice is megabytes, which
hides for minutes that a device stopped reading."""


READ_BYTES = 2 * 1024
"""Taken from the kernel at a time: some seconds of audio in one go after a stall. asyncio's own
256 KB hold 40,000 tiny frames, which the library parses without a pause: half a second in which no
other device is served."""

MAX_HEAD_BYTES = 16 * 1024
"""Of a request, usually 500 bytes. The library itself takes a megabyte."""

HEAD_TOO_LARGE = Refusal(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "head", "The headers are too large.\n"
)


class DeviceSocket(ServerConnection):
    """One device's socket. ``last_heard`` is a reading of the loop's clock.

    ``inbox``, ``tracked`` and ``quota`` stand as soon as it is connected. The library's ``recv`` is
    not to be used: what arrives is in the inbox.
    """

    inbox: Inbox
    tracked: TrackedConnection
    quota: InputQuota
    on_connected: Callable[[DeviceSocket], None]
    """Called once, before anything else: sets ``tracked`` and ``quota``."""
    on_gone: Callable[[DeviceSocket], None]
    """Called once, when TCP is gone, whatever came of the connection."""
    on_excess: Callable[[str], None] | None = None
    """Called once, with what was too much; whatever arrives later is dropped."""
    on_dropped: Callable[[str], None]
    """Called for each message that was too much."""
    last_heard: float = 0.0
    _head_bytes: int = 0
    _cut: bool = False
    _pieces: list[bytes]
    """Of the message that is coming in pieces."""
    _pieces_are_text: bool = False
    intercept: Callable[[str], bool] | None = None
    """Takes a text message before it is queued for reading; true if that settled it."""
    on_lost: Callable[[], None] | None = None
    """Called once, when the conversation is over: a close frame, a violation, or TCP is gone."""

    def process_event(self, event: Request | Response | Frame) -> None:
        """Look at what arrived; data goes to the inbox, the rest to the library."""
        self.last_heard = self.loop.time()
        if not isinstance(event, Frame):
            super().process_event(event)
            return
        if not self._admit(event):
            return
        opcode = event.opcode
        if opcode is Opcode.BINARY and event.fin:
            self.inbox.put(bytes(event.data))
        elif opcode is Opcode.TEXT and event.fin:
            self._put_text(bytes(event.data))
        elif opcode in DATA_OPCODES:
            self._put_piece(event)
        else:
            super().process_event(event)

    def _put_piece(self, frame: Frame) -> None:
        """Join a message that came in pieces. The library has checked their order and size."""
        if frame.opcode is not Opcode.CONT:
            self._pieces = []
            self._pieces_are_text = frame.opcode is Opcode.TEXT
        self._pieces.append(bytes(frame.data))
        if frame.fin:
            data = b"".join(self._pieces)
            self._pieces.clear()
            if self._pieces_are_text:
                self._put_text(data)
            else:
                self.inbox.put(data)

    def _put_text(self, data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        if self.intercept is None or not self.intercept(text):
            self.inbox.put(text)

    def _admit(self, frame: Frame) -> bool:
        if self._cut:
            return False  # of the same read
        verdict = self.quota.judge(frame, self.last_heard)
        if verdict is Verdict.TAKE:
            return True
        self.on_dropped(self.quota.excess)
        if verdict is Verdict.CLOSE:
            self.cut(self.quota.excess)
        return False

    def cut(self, what: str) -> None:
        """Take nothing more, not even an answer to the close frame: ``what`` was too much.

        Idempotent. What still comes is read, so that the close frame is not overtaken by a reset,
        and thrown away unparsed.
        """
        if self._cut:
            return
        self._cut = True
        if self.on_excess is not None:
            self.on_excess(what)

    def connection_made(self, transport: object) -> None:
        """Bound what is buffered."""
        super().connection_made(transport)  # type: ignore[arg-type]  # asyncio's own signature
        sock = self.transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        if hasattr(self.transport, "max_size"):  # asyncio's own transports have it
            self.transport.max_size = READ_BYTES
        self.inbox = Inbox(self.transport.pause_reading, self.transport.resume_reading)
        self.on_connected(self)

    def data_received(self, data: bytes) -> None:
        """Read, and notice an end: the library itself waits for TCP's, which may never come."""
        if self._cut:
            return
        if self.request is None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.on_dropped(HEAD_TOO_LARGE.reason)
                if self.protocol.handshake_exc is None:  # else the library has had the last word
                    self.transport.write(HEAD_TOO_LARGE.raw())
                self.transport.abort()
                return
        super().data_received(data)
        if self.state in {State.CLOSING, State.CLOSED}:
            self._lose()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell our side too."""
        super().connection_lost(exc)
        self._lose()
        self.on_gone(self)

    def _lose(self) -> None:
        on_lost, self.on_lost = self.on_lost, None
        if on_lost is not None:
            on_lost()
        self.inbox.close()

    def send_now(self, data: str | bytes) -> bool:
        """Send a message without waiting; false, and nothing is sent, where that has to wait.

        It has to while the peer does not read, or when the connection is coming to its end; then
        ``send`` knows what to do.
        """
        protocol = self.protocol
        if (
            self.paused
            or protocol.state is not State.OPEN
            or self.send_in_progress is not None
            or self.transport.is_closing()
        ):
            return False
        if isinstance(data, str):
            protocol.send_text(data.encode())
        else:
            protocol.send_binary(data)
        self.send_data()
        return True

    def abort(self) -> None:
        """End the TCP connection at once, whatever is still buffered."""
        self.transport.abort()


class LibraryLog(logging.LoggerAdapter[logging.Logger]):
    """What the WebSocket library logs, without failed handshakes.

    It would log each port scanner and each broken request with a traceback; ``on_bad_handshake``
    counts them instead.
    """

    def __init__(self, on_bad_handshake: Callable[[], None]) -> None:
        super().__init__(logging.getLogger("vixio.transports.xiaozhi.websockets"))
        self._on_bad_handshake = on_bad_handshake

    def log(self, level: int, msg: object, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  as in the base
        """Count a failed handshake, log anything else."""
        if msg == "opening handshake failed":
            self._on_bad_handshake()
        else:
            super().log(level, msg, *args, **kwargs)
