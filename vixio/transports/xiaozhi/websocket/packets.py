"""Microphone packets, which are nearly all that a device sends, without the library's parser.

A packet of audio is a binary frame that arrives alone and whole. Taking it apart is an eighth of
what the library does for a frame of any kind; on a core that has slept since the last packet, that
counts. Whatever is not such a frame is the library's.
"""

from __future__ import annotations

from typing import Final

from websockets.frames import Frame

try:
    from websockets.speedups import apply_mask
except ImportError:  # a wheel without its C extension
    from websockets.utils import apply_mask

_WHOLE_BINARY: Final = 0x82
_MASKED: Final = 0x80
_LENGTH_FOLLOWS: Final = 0xFE
_MASK_BYTES: Final = 4


def whole_packet(data: bytearray, size: int) -> bytes | None:
    """Return the payload of ``data[:size]`` if that is one whole, masked, binary frame, else None.

    Lengths of eight bytes, for frames that no read of the network holds, are left out (RFC 6455
    §5.2).
    """
    if data[0] != _WHOLE_BINARY or data[1] > _LENGTH_FOLLOWS:
        return None
    length, start = data[1] - _MASKED, 2 + _MASK_BYTES
    if data[1] == _LENGTH_FOLLOWS:
        length, start = data[2] << 8 | data[3], 4 + _MASK_BYTES
    if size != start + length:
        return None
    return apply_mask(data[start:size], data[start - _MASK_BYTES : start])


class Alignment:
    """Tells whether the next byte to arrive begins a frame.

    Only then may a frame be taken past the library's parser. It counts bytes: those that the parser
    was given, less those of the frames that came out of it. A length that is spelled longer than
    needed makes the count too large, and everything is left to the parser from then on.
    """

    __slots__ = ("_inside", "_pieces")

    def __init__(self) -> None:
        self._inside = -1
        """Bytes in the parser; below 0: not known."""
        self._pieces = False
        """In a message that comes in pieces."""

    @property
    def at_start(self) -> bool:
        """Whether a frame begins next, and with it a message."""
        return self._inside == 0 and not self._pieces

    def opened(self, data: bytearray) -> None:
        """The request ended in ``data``. A frame that follows in the same bytes is the parser's."""
        end = data.find(b"\r\n\r\n")
        self._inside = 0 if end >= 0 and end == len(data) - 4 else -1

    def given(self, size: int) -> None:
        """The parser was given so many bytes."""
        if self._inside >= 0:
            self._inside += size

    def came_out(self, frame: Frame) -> None:
        """A frame came out of the parser."""
        length = len(frame.data)
        if self._inside >= 0:
            longer = 0 if length < 126 else 2 if length < 1 << 16 else 8
            self._inside -= 2 + longer + _MASK_BYTES + length
        if frame.opcode < 8:  # not a control frame
            self._pieces = not frame.fin
