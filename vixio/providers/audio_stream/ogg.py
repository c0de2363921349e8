"""Ogg pages as they arrive, to the packets of the first Opus stream in them (RFC 3533).

There is no light library for this alone; it is a header of 27 bytes and a table of lengths. The
checksum is not looked at: the transport below is reliable, and a broken Opus packet is refused by
libopus.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vixio.providers.audio_stream.formats import AudioError

_HEADER_BYTES: Final = 27
_CONTINUED, _FIRST, _LAST = 1, 2, 4

_MAX_PACKET: Final = 61_440
"""48 frames of 1275 bytes (RFC 6716 §3.4 [R2, R5]); a longer packet can only hold a picture."""

_MAX_GARBAGE: Final = 65_536


@dataclass(frozen=True, slots=True)
class Page:
    """``granule``: samples at 48 kHz that end with this page's packets, -1 if none ends here.

    ``packets``: those that end here, whole; the longest ones are cut to what is of use.
    """

    packets: tuple[bytes, ...]
    granule: int
    first: bool
    last: bool


class OggDemuxer:
    """Takes bytes, gives pages. Of several streams side by side only the first Opus one."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._serial: int | None = None
        self._packet = bytearray()
        self._garbage = 0

    def feed(self, data: bytes) -> Iterator[Page]:
        """Yield the pages that ``data`` completes. Raises AudioError."""
        self._buffer += data
        while (raw := self._take()) is not None:
            page = self._page(*raw)
            if page is not None:
                yield page

    def _take(self) -> tuple[bytes, bytes, bytes] | None:
        """Take a page off the buffer: header, lengths, body."""
        buffer = self._buffer
        at = buffer.find(b"OggS")
        if at != 0:
            lost = at if at > 0 else max(0, len(buffer) - 3)
            del buffer[:lost]
            self._garbage += lost
            if self._garbage > _MAX_GARBAGE:
                raise AudioError("the service sent what is no Ogg")
            if at < 0:
                return None
        if len(buffer) < _HEADER_BYTES:
            return None
        start = _HEADER_BYTES + buffer[26]
        if len(buffer) < start:
            return None
        lengths = bytes(buffer[_HEADER_BYTES:start])
        end = start + sum(lengths)
        if len(buffer) < end:
            return None
        header, body = bytes(buffer[:_HEADER_BYTES]), bytes(buffer[start:end])
        del buffer[:end]
        return header, lengths, body

    def _page(self, header: bytes, lengths: bytes, body: bytes) -> Page | None:
        flags, granule, serial = struct.unpack_from("<Bqi", header, 5)
        if flags & _FIRST:
            if body.startswith(b"OpusHead"):
                self._serial = serial
            elif body[1:7] == b"vorbis" and self._serial is None:
                raise AudioError("the service sent Ogg Vorbis: ask it for pcm, wav, mp3 or opus")
        if serial != self._serial:
            return None
        if not flags & _CONTINUED:
            self._packet.clear()
        packets = tuple(self._packets(lengths, body))
        return Page(packets, granule, bool(flags & _FIRST), bool(flags & _LAST))

    def _packets(self, lengths: bytes, body: bytes) -> Iterator[bytes]:
        at = 0
        for length in lengths:
            if len(self._packet) <= _MAX_PACKET:
                self._packet += body[at : at + length]
            at += length
            if length < 255:  # a segment that is not full ends the packet
                yield bytes(self._packet)
                self._packet.clear()
