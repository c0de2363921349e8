"""Reads a stream of server-sent events (HTML Living Standard 9.2), within bounds."""

from __future__ import annotations

from vixio.core.errors import ToolError

MAX_EVENT_BYTES = 1024 * 1024
MAX_STREAM_BYTES = 16 * 1024 * 1024
MAX_EVENTS = 50_000


class EventReader:
    """Bytes in, the data of events out. Lines end with LF or CRLF, as all A2A servers send them."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0
        self._read = 0
        self._events = 0

    def feed(self, received: bytes) -> list[bytes]:
        """Return the data of the events that ``received`` completes. Raises ToolError."""
        self._read += len(received)
        *lines, self._rest = (self._rest + received).split(b"\n")
        self._bound(len(self._rest))
        found: list[bytes] = []
        for ended in lines:
            line = ended.removesuffix(b"\r")
            if not line:
                if self._data:
                    found.append(b"\n".join(self._data))
                    self._events += 1
                self._data, self._size = [], 0
            elif line.startswith(b"data:"):
                value = line[5:].removeprefix(b" ")
                self._data.append(value)
                self._size += len(value)
                self._bound(self._size)
        return found

    def _bound(self, size: int) -> None:
        if size > MAX_EVENT_BYTES or self._read > MAX_STREAM_BYTES or self._events > MAX_EVENTS:
            raise ToolError("failed", "the agent's answer is too long")
