"""The channel of one device over a WebSocket: filters its frames and queues its messages.

What arrives is charged to the connection's quota before anything else is done with it. MCP answers
are handed over the moment they arrive, so that a tool call returns although nothing reads the
channel at that time. Text that is not UTF-8 is repaired: tool results quote the names of Wi-Fi
networks, and one such byte must not end the connection. Whole messages wait in the inbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, ClassVar

from websockets.frames import DATA_OPCODES, Frame, Opcode
from websockets.http11 import Request, Response

from vixio.transports.admission.connection_tracker import TrackedConnection
from vixio.transports.admission.identity import Identity
from vixio.transports.admission.refusal import Refusal
from vixio.transports.xiaozhi.channel import Channel, ChannelListener
from vixio.transports.xiaozhi.framing import Codec, Version
from vixio.transports.xiaozhi.inbox import Inbox
from vixio.transports.xiaozhi.protocol import MAX_MESSAGE_BYTES
from vixio.transports.xiaozhi.websocket.link import WebSocketLink
from vixio.transports.xiaozhi.websocket.quota import InputQuota, Verdict

if TYPE_CHECKING:
    from vixio.transports.xiaozhi.websocket.carrier import WebSocketCarrier

MAX_HEAD_BYTES = 16 * 1024
"""Of a request, usually 500 bytes. The library itself takes a megabyte."""

MAX_DROPPED_BYTES = 1024 * 1024
"""Of a request that was refused: a client that sends still more is not interested in the answer."""

HEAD_TOO_LARGE = Refusal(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "head", "The headers are too large.\n"
)


class WebSocketChannel(WebSocketLink, Channel):
    """One device's WebSocket. Identity, headers and version are set when it is admitted."""

    transport: ClassVar[str] = "websocket"

    tracked: TrackedConnection
    quota: InputQuota

    def __init__(
        self,
        owner: WebSocketCarrier,
        read_buffer: bytearray,
        open_timeout: float,
        close_timeout: float,
    ) -> None:
        super().__init__(MAX_MESSAGE_BYTES, read_buffer, open_timeout, close_timeout)
        self.identity = Identity("")
        self.version = ""
        self.headers: Mapping[str, str] = {}
        self.own_host = ""
        self.behind_proxy = False
        self.listener: ChannelListener | None = None
        self._owner = owner
        self._head_bytes = 0
        self._opened = False
        self._cut = False
        self._ended = False
        self._pieces: list[bytes] = []  # of the message that is coming in pieces
        self._pieces_are_text = False

    @property
    def address(self) -> str:  # type: ignore[override]  # read only, where the base has a variable
        """The client's address, behind a proxy as the proxy states it."""
        return self.tracked.address

    def agree(self, version: Version, codec: Codec) -> None:
        """Count audio of this codec behind the header of this version from now on."""
        self.quota.agree(version, codec)
        self._owner.agreed(self)

    def cut(self, why: str) -> None:
        """Take nothing more, not even an answer to the close frame: ``why`` was too much.

        Idempotent. What still arrives is read, so that a reset does not overtake the close frame,
        and dropped unparsed.
        """
        if self._cut:
            return
        self._cut = True
        if self.listener is not None:
            self.listener.cut_off(why)
        self._owner.cut_off(self, why)

    # ── the link's callbacks ────────────────────────────────────────────────────────────────────

    def connected(self) -> None:
        """Make the inbox, which reads no more than it can hold."""
        self.inbox = Inbox(self.tcp.pause_reading, self.tcp.resume_reading)
        self._owner.connected(self)

    def buffer_updated(self, nbytes: int) -> None:
        """Bound what is read of a request, and of a device that was cut off."""
        if not self._opened and self.is_handshaking:
            self._head_bytes += nbytes
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse_head()
        if not self._cut:
            super().buffer_updated(nbytes)

    def requested(self, request: Request) -> Response:
        """Have the owner decide."""
        return self._owner.requested(self, request)

    def opened(self) -> None:
        """The device is admitted."""
        self._opened = True
        self._owner.opened(self)

    def received(self, frame: Frame) -> None:
        """Take a data frame, within the quota. The library has answered pings."""
        if self._cut or not self._allowed(self.quota.judge(frame, self.last_heard)):
            return
        if frame.opcode not in DATA_OPCODES:
            return
        if frame.opcode is Opcode.CONT or not frame.fin:
            self._put_piece(frame)
        elif frame.opcode is Opcode.BINARY:
            self.inbox.put(bytes(frame.data))
        else:
            self._put_text(bytes(frame.data))

    def handshake_failed(self) -> None:
        """Have it counted."""
        self._owner.handshake_failed(self)

    def ended(self) -> None:
        """End the session's wait for more."""
        if self._ended:
            return
        self._ended = True
        if self.listener is not None:
            self.listener.lost()
        self.inbox.close()
        self._owner.ended(self)

    def disconnected(self) -> None:
        """TCP is gone."""
        self._owner.disconnected(self)

    def _refuse_head(self) -> None:
        """Answer once, then read and drop: unread bytes at the close would reset the connection.

        The client closes when it has the answer, or is aborted after ``close_timeout``.
        """
        if self._head_bytes > MAX_DROPPED_BYTES:
            self.abort()
        if self._cut:
            return
        self._cut = True
        self._owner.dropped(self, HEAD_TOO_LARGE.reason)
        if not self.is_answered:
            self.tcp.write(HEAD_TOO_LARGE.raw())
            self.end_writing()
        self.expect_end()

    def _allowed(self, verdict: Verdict) -> bool:
        if verdict is Verdict.TAKE:
            return True
        self._owner.dropped(self, self.quota.excess)
        if verdict is Verdict.CLOSE:
            self.cut(self.quota.excess)
        return False

    def _put_piece(self, frame: Frame) -> None:
        """Join a message that came in pieces. The library has checked their order and size."""
        if frame.opcode is not Opcode.CONT:
            self._pieces = []
            self._pieces_are_text = frame.opcode is Opcode.TEXT
        self._pieces.append(bytes(frame.data))
        if frame.fin:
            data = b"".join(self._pieces)
            self._pieces = []
            if self._pieces_are_text:
                self._put_text(data)
            else:
                self.inbox.put(data)

    def _put_text(self, data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        if self.listener is None or not self.listener.intercept(text):
            self.inbox.put(text)
