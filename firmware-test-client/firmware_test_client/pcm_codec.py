"""PCM in the place of Opus, as a web page without an Opus encoder sends and plays it."""

from __future__ import annotations

from firmware_test_client.opus import OpusError


class PcmEncoder:
    """One uplink stream: a frame is its own packet."""

    def encode(self, frame: bytes) -> bytes:
        """The frame."""
        return frame


class PcmDecoder:
    """One downlink stream. A packet longer than `frame_ms` is refused, as with Opus."""

    def __init__(self, rate: int, frame_ms: int) -> None:
        """Raises OpusError for a rate or duration that is none."""
        if rate <= 0 or frame_ms <= 0:
            raise OpusError(f"no PCM of {rate} Hz in frames of {frame_ms} ms")
        self._rate = rate
        self._max_bytes = rate * frame_ms // 1000 * 2

    def reset(self) -> None:
        """There is no state."""

    def duration_ms(self, packet: bytes) -> float:
        """Duration of a packet in milliseconds.

        Raises:
            OpusError: the packet is empty, too long, or ends within a sample.
        """
        if not packet or len(packet) % 2 or len(packet) > self._max_bytes:
            raise OpusError(f"{len(packet)} bytes are no frame of PCM")
        return len(packet) / 2 / self._rate * 1000

    def decode(self, packet: bytes) -> bytes:
        """The packet, which is its own PCM. Raises OpusError as `duration_ms` does."""
        self.duration_ms(packet)
        return packet
