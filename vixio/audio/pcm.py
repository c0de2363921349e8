"""PCM on the wire, for clients that have no Opus: web browsers without WebCodecs.

16-bit little-endian mono, as inside: nothing is coded, frames are only checked and cut.
"""

from __future__ import annotations

from typing import Final

from vixio.audio.packets import PacketEncoder
from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE

MIN_FRAME_MS: Final = 20
MAX_FRAME_MS: Final = 120
"""The longest that an Opus packet holds, too (RFC 6716 §3.2.5)."""

_MIN_BYTES: Final = LISTEN_RATE * MIN_FRAME_MS // 1000 * BYTES_PER_SAMPLE
_MAX_BYTES: Final = LISTEN_RATE * MAX_FRAME_MS // 1000 * BYTES_PER_SAMPLE


class PcmDecoder:
    """A microphone's stream of PCM at ``LISTEN_RATE``, in frames of 20 to 120 ms."""

    def __init__(self) -> None:
        self._closed = False

    def decode(self, packet: bytes) -> bytes:
        """Return the packet's PCM; none if it is no frame: half a sample, too short or too long."""
        size = len(packet)
        if self._closed or size % BYTES_PER_SAMPLE or not _MIN_BYTES <= size <= _MAX_BYTES:
            return b""
        return packet

    def close(self) -> None:
        """Whatever is decoded later gives nothing."""
        self._closed = True


class PcmEncoder(PacketEncoder):
    """The PCM of one reply, resampled and cut into frames of ``output``."""

    def encode_frame(self, pcm: bytes) -> bytes:
        """Return the frame itself."""
        return pcm
