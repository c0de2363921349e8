"""Demuxes streaming Ogg pages to the packets of their Opus stream (RFC 3533).

No small library does only this; a page is a header of 27 bytes, a table of lengths and data. The
checksum is not verified: the transport is reliable, and libopus rejects a broken packet.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vixio.providers.audio_stream.formats import AudioError

_HEADER_BYTES: Final = 27
_CONTINUED, _FIRST, _LAST = 1, 2, 4

_MAX_PACKET: Final = 61_440
"""48 frames of 1275 bytes (RFC 6716 §3.4 [R2, R5]). Only tags with a picture are longer."""

_FULL: Final = 255
"""Length of a segment that does not end its packet."""

_MAX_GARBAGE: Final = 65_536


@dataclass(frozen=True, slots=True)
class Page:
    """Header of a page. ``granule``: position of its end, in samples at 48 kHz."""

    granule: int
    first: bool
    last: bool


class OggDemuxer:
    """Yields each packet as soon as it is complete, before its page, which may last a second.

    Of several multiplexed streams, only the first Opus stream is used.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._lengths: deque[int] = deque()
        """Of the current page's segments that are still to come."""
        self._page = Page(0, first=False, last=False)
        self._page_serial = 0
        self._serial: int | None = None
        self._packet = bytearray()
        self._beginning = bytearray()
        """The first packet of a stream, which may be another stream than ours."""
        self._garbage = 0

    def feed(self, data: bytes) -> Iterator[tuple[bytes, Page]]:
        """Yield the packets that ``data`` completes, each with its page. Raises AudioError."""
        self._buffer += data
        while self._lengths or self._next_page():
            length = self._lengths[0]
            if len(self._buffer) < length:
                return
            segment = self._buffer[:length]
            del self._buffer[:length]
            self._lengths.popleft()
            packet = self._segment(segment)
            if packet is not None:
                yield packet, self._page

    def _next_page(self) -> bool:
        """Read the header of the next page with segments; return whether it is complete."""
        buffer = self._buffer
        while not self._lengths:
            if not self._synchronise() or len(buffer) < _HEADER_BYTES:
                return False
            start = _HEADER_BYTES + buffer[26]
            if len(buffer) < start:
                return False
            flags, granule, serial = struct.unpack_from("<Bqi", buffer, 5)
            self._lengths.extend(buffer[_HEADER_BYTES:start])
            del buffer[:start]
            self._page = Page(granule, bool(flags & _FIRST), bool(flags & _LAST))
            self._page_serial = serial
            self._beginning.clear()
            if serial == self._serial and not flags & _CONTINUED:
                self._packet.clear()
        return True

    def _synchronise(self) -> bool:
        """Skip to the start of the next page; return whether there is one."""
        buffer = self._buffer
        at = buffer.find(b"OggS")
        if at != 0:
            lost = at if at > 0 else max(0, len(buffer) - 3)
            del buffer[:lost]
            self._garbage += lost
            if self._garbage > _MAX_GARBAGE:
                raise AudioError("the service sent what is no Ogg")
        return at >= 0

    def _segment(self, segment: bytearray) -> bytes | None:
        """Take a segment; return the packet of our stream that it completes, if any."""
        begins = self._page.first
        ours = self._page_serial == self._serial
        if not begins and not ours:
            return None
        packet = self._beginning if begins else self._packet
        if len(packet) <= _MAX_PACKET:
            packet += segment
        if len(segment) == _FULL:
            return None  # the packet continues in the next segment
        whole = bytes(packet)
        packet.clear()
        if begins and whole.startswith(b"OpusHead"):
            self._serial = self._page_serial
        elif begins and whole[1:7] == b"vorbis" and self._serial is None:
            raise AudioError("the service sent Ogg Vorbis: ask it for pcm, wav, mp3 or opus")
        elif not ours:
            return None
        return whole
