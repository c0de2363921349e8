"""Audio inside Vixio: 16-bit little-endian signed mono PCM in ``bytes``; only the rate varies.

The codec stays in the transport. Listening runs at ``LISTEN_RATE`` whatever the device sends.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

LISTEN_RATE = 16_000
"""Sample rate (Hz) of everything the listening stations see: what VAD and ASR models expect."""

BYTES_PER_SAMPLE = 2


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """Rate (Hz) and packet length (ms) of one direction of a device's audio."""

    sample_rate: int
    frame_ms: int

    @property
    def frame_samples(self) -> int:
        """Samples in one packet."""
        return self.sample_rate * self.frame_ms // 1000

    @property
    def frame_bytes(self) -> int:
        """Bytes of PCM in one packet."""
        return self.frame_samples * BYTES_PER_SAMPLE


def pcm_seconds(pcm: bytes, sample_rate: int) -> float:
    """Return how long ``pcm`` lasts, in seconds."""
    return len(pcm) / (BYTES_PER_SAMPLE * sample_rate)


def pcm_bytes(seconds: float, sample_rate: int) -> int:
    """Return the number of PCM bytes in ``seconds``, whole samples."""
    return round(seconds * sample_rate) * BYTES_PER_SAMPLE


def wav(pcm: bytes, sample_rate: int) -> bytes:
    """Return ``pcm`` as a WAV file."""
    frame = BYTES_PER_SAMPLE
    fields = struct.pack("<HHIIHH", 1, 1, sample_rate, sample_rate * frame, frame, 8 * frame)
    head = b"RIFF" + struct.pack("<I", 36 + len(pcm)) + b"WAVEfmt " + struct.pack("<I", 16)
    return head + fields + b"data" + struct.pack("<I", len(pcm)) + pcm
