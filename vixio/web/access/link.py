"""The WebSocket of one tool server: whole text messages in and out, bounded in size and rate."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from websockets.frames import DATA_OPCODES, CloseCode, Frame, Opcode
from websockets.http11 import Request, Response

from vixio.core.tools.source import EVERYBODY, Scope
from vixio.transports.admission.connection_tracker import TrackedConnection
from vixio.transports.admission.limits import Bucket
from vixio.transports.xiaozhi.inbox import Inbox
from vixio.transports.xiaozhi.websocket.link import WebSocketLink

if TYPE_CHECKING:
    from vixio.web.access.points import AccessPoints

MAX_MESSAGE_BYTES: Final = 512 * 1024
"""Of a message: a list of a hundred tools has a quarter of it, a small picture fits."""

MESSAGES_PER_S: Final = 50.0
BYTES_PER_S: Final = 512.0 * 1024
BURST_S: Final = 4.0
"""Seconds of the two limits that may arrive at once."""

MALFORMED_PER_MIN: Final = 20
"""Some servers print lines of their log where messages belong."""

OPEN_S: Final = 10.0
CLOSE_S: Final = 2.0

_log = logging.getLogger(__name__)


class AccessLink(WebSocketLink):
    """One connection. ``digest`` of its token and ``scope`` are set when it is admitted."""

    tracked: TrackedConnection

    def __init__(self, owner: AccessPoints, read_buffer: bytearray, request: bytes) -> None:
        super().__init__(MAX_MESSAGE_BYTES, read_buffer, OPEN_S, CLOSE_S)
        self.read_before = request
        self.digest = ""
        self.scope: Scope = EVERYBODY
        self.ending = ""
        """Why this side ends it; empty: it does not."""
        self._owner = owner
        self._rate = Bucket(BURST_S)
        self._malformed = Bucket(60.0)
        self._pieces: list[bytes] = []
        self._over = False

    async def send(self, text: str) -> None:
        """Send a message, and wait while the peer does not read. Raises ConnectionClosed."""
        while not self.send_now(text):
            await self.writable()

    def end(self, code: int, why: str) -> None:
        """Close it; what still arrives is dropped. Idempotent."""
        if not self.ending:
            self.ending = why
            self.inbox.close()
            self._owner.spawn(self.close(code, why))

    def malformed(self, why: str) -> None:
        """Take note of a message that is none; the caller answers it."""
        self._owner.count("malformed")
        if self._malformed.take(60.0 / MALFORMED_PER_MIN, self.loop.time()):
            _log.warning("malformed message of a tool server", extra=self.fields(reason=why))
        else:
            self._cut("malformed", "too many malformed messages")

    def fields(self, **more: object) -> dict[str, object]:
        """Return what the log says of it."""
        whose = {self.scope.kind or "scope": self.scope.device or self.scope.profile}
        return {**whose, "address": self.tracked.address, **more}

    # ── the link's callbacks ────────────────────────────────────────────────────────────────────

    def connected(self) -> None:
        """Make the inbox, which reads no more than it can hold."""
        self.inbox = Inbox(self.tcp.pause_reading, self.tcp.resume_reading)
        self._owner.connected(self)

    def requested(self, request: Request) -> Response:
        """Have the owner decide."""
        return self._owner.requested(self, request)

    def opened(self) -> None:
        """It is admitted."""
        self._owner.opened(self)

    def received(self, frame: Frame) -> None:
        """Take a frame, within the rate. The library has answered pings."""
        if self.ending:
            return
        cost = max(1.0 / MESSAGES_PER_S, len(frame.data) / BYTES_PER_S)
        if not self._rate.take(cost, self.last_heard):
            self._cut("flood", "too many messages")
            return
        if frame.opcode not in DATA_OPCODES:
            return
        if frame.opcode is not Opcode.CONT:
            self._pieces = []
        self._pieces.append(bytes(frame.data))  # the library bounds the whole message
        if frame.fin:
            data, self._pieces = b"".join(self._pieces), []
            # Some clients send text as binary; what is neither is found when it is read.
            self.inbox.put(data.decode("utf-8", "replace"))

    def handshake_failed(self) -> None:
        """Count it."""
        self._owner.count("handshake")

    def ended(self) -> None:
        """End the wait for more."""
        if self._over:
            return
        self._over = True
        sent = self._protocol.close_sent
        if sent is not None and sent.code == CloseCode.MESSAGE_TOO_BIG:
            self._owner.count("too_large")
            _log.warning("tool server cut off", extra=self.fields(reason="message too large"))
        self.inbox.close()

    def disconnected(self) -> None:
        """TCP is gone."""
        self._owner.disconnected(self)

    def _cut(self, what: str, why: str) -> None:
        self._owner.count(f"cut_{what}")
        _log.warning("tool server cut off", extra=self.fields(reason=why))
        self.end(CloseCode.POLICY_VIOLATION, why)
