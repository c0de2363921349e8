"""Reads a stream of server-sent events (HTML Living Standard, section 9.2.6), without I/O."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """An event. ``name``: what ``event`` says, empty without it."""

    name: str
    data: str


class EventReader:
    """Bytes in, events out; their other fields do not count, nor do events without data."""

    def __init__(self, max_bytes: int) -> None:
        """``max_bytes``: of one event."""
        self._max_bytes = max_bytes
        self._rest = bytearray()
        self._searched = 0
        """Bytes of the rest in which no line ends."""
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[Event]:
        """Return the events that ``piece`` completes; none for a sign of life.

        Raises ValueError for an event that is too long.
        """
        rest, found = self._rest, list[Event]()
        rest += piece
        start = 0
        for end in _LINE_END.finditer(rest, self._searched):
            if end.end() == len(rest) and rest.endswith(b"\r"):
                break  # perhaps the first half of a line's end
            line = bytes(rest[start : end.start()])
            start = end.end()
            if line:
                self._line(line)
                continue
            if self._data:
                name, data = self._name, b"\n".join(self._data)
                found.append(
                    Event(name.decode("utf-8", "replace"), data.decode("utf-8", "replace"))
                )
                self._data.clear()
                self._size = 0
            self._name = b""
        del rest[:start]
        self._searched = len(rest) - rest.endswith(b"\r")
        if self._size + len(rest) > self._max_bytes:
            raise ValueError(f"an event of more than {self._max_bytes} bytes")
        return found

    def _line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value) + 1
        elif name == b"event":
            self._name = value.removeprefix(b" ")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
