"""Ogg pages as they arrive, to the packets of the Opus stream in them (RFC 3533).

There is no light library for this alone; it is a header of 27 bytes and a table of lengths. The
checksum is not looked at: the transport below is reliable, and a broken Opus packet is refused by
libopus.
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
"""48 frames of 1275 bytes (RFC 6716 §3.4 [R2, R5]); a longer packet can only hold a picture."""

_FULL: Final = 255
"""Bytes of a segment that does not end its packet."""

_MAX_GARBAGE: Final = 65_536


@dataclass(frozen=True, slots=True)
class Page:
    """What a page's header says: ``granule``, the samples at 48 kHz that end with its packets."""

    granule: int
    first: bool
    last: bool


class OggDemuxer:
    """Takes bytes, gives packets as soon as they are there, though their page may be a second long.

    Of several streams side by side only the first Opus one.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._lengths: deque[int] = deque()
        """Of the present page's segments that are still to come."""
        self._page = Page(0, first=False, last=False)
        self._page_serial = 0
        self._serial: int | None = None
        self._packet = bytearray()
        self._beginning = bytearray()
        """The first packet of a stream that may be another one."""
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
        """Read the next page's header that names any segment; false: it is not there yet."""
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
        """Go to where the next page starts; false: it is not there yet."""
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
        """Take a segment; return the packet that it ends, if it is one of ours."""
        begins = self._page.first
        ours = self._page_serial == self._serial
        if not begins and not ours:
            return None
        packet = self._beginning if begins else self._packet
        if len(packet) <= _MAX_PACKET:
            packet += segment
        if len(segment) == _FULL:
            return None  # the packet goes on in the next segment
        whole = bytes(packet)
        packet.clear()
        if begins and whole.startswith(b"OpusHead"):
            self._serial = self._page_serial
        elif begins and whole[1:7] == b"vorbis" and self._serial is None:
            raise AudioError("the service sent Ogg Vorbis: ask it for pcm, wav, mp3 or opus")
        elif not ours:
            return None
        return whole
