"""The PCM of one reply, cut into frames of the device's format, and the resampling around it."""

from __future__ import annotations

import functools
from abc import abstractmethod

from vixio.core.audio import BYTES_PER_SAMPLE, AudioFormat
from vixio.core.transport import AudioEncoder


@functools.cache
def load_resampler() -> None:
    """Load numpy and the resampler, which takes tens of milliseconds. Idempotent, blocking."""
    import numpy as np
    import soxr

    soxr.resample(np.zeros(160, np.int16), 16_000, 24_000)


class PacketEncoder(AudioEncoder):
    """The PCM of one reply to packets of ``output``. Subclasses encode whole frames."""

    def __init__(self, output: AudioFormat) -> None:
        self.packet_ms = output.frame_ms
        self.output = output
        self._pending = bytearray()  # PCM at the output rate, less than a packet of it
        self._resampler: _Resampler | None = None
        self._carry = b""  # half a sample, when a provider's chunk ended inside one
        self._rate = output.sample_rate

    @abstractmethod
    def encode_frame(self, pcm: bytes) -> bytes | None:
        """Return the packet of one frame of PCM at the output rate; None: it can make no more."""

    def encode(self, pcm: bytes, sample_rate: int) -> list[bytes]:
        """Take PCM at any rate (Hz) and return the packets that it completed."""
        if sample_rate != self._rate:
            self._pending += self._drain()
            self._rate = sample_rate
            if sample_rate != self.output.sample_rate:
                self._resampler = _Resampler(sample_rate, self.output.sample_rate)
        if self._carry:
            pcm = self._carry + pcm
            self._carry = b""
        if len(pcm) % BYTES_PER_SAMPLE:
            pcm, self._carry = pcm[:-1], pcm[-1:]
        self._pending += self._resampler.feed(pcm) if self._resampler is not None else pcm
        return self._whole_packets()

    def flush(self) -> list[bytes]:
        """Return the rest, padded with silence to whole packets."""
        self._pending += self._drain()
        missing = -len(self._pending) % self.output.frame_bytes
        self._pending += bytes(missing)
        return self._whole_packets()

    def _drain(self) -> bytes:
        """End the stream of the present rate and return what its resampler still held."""
        self._carry = b""
        resampler, self._resampler = self._resampler, None
        self._rate = self.output.sample_rate
        return resampler.finish() if resampler is not None else b""

    def _whole_packets(self) -> list[bytes]:
        size = self.output.frame_bytes
        whole = len(self._pending) // size * size
        if not whole:
            return []
        pcm = bytes(self._pending[:whole])
        del self._pending[:whole]
        packets = (self.encode_frame(pcm[start : start + size]) for start in range(0, whole, size))
        return [packet for packet in packets if packet is not None]


class _Resampler:
    """A stream of PCM from one rate to another (libsoxr, "HQ": flat to 0.91 of Nyquist)."""

    def __init__(self, rate_in: int, rate_out: int) -> None:
        import numpy as np
        import soxr

        self._np = np
        self._stream = soxr.ResampleStream(rate_in, rate_out, 1, dtype="int16", quality="HQ")

    def feed(self, pcm: bytes, *, last: bool = False) -> bytes:
        samples = self._np.frombuffer(pcm, "<i2")
        resampled: bytes = self._stream.resample_chunk(samples, last=last).tobytes()
        return resampled

    def finish(self) -> bytes:
        return self.feed(b"", last=True)
