"""Streaming WAV (RIFF, RF64): a header of known or unknown length, then samples."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vixio.providers.audio_stream.formats import AudioError, FormatDecoder
from vixio.providers.audio_stream.mixing import to_mono

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_UNKNOWN: Final = (0, 0x7FFFFFFF, 0xFFFFFFFF)
"""Sizes of the data chunk that a server writes for an unknown length; others write about 2 GB."""
_ENDLESS: Final = 0x7FFF0000
_FILE: Final = 16
"""Bytes by which the beginning of a file is known."""
_MAX_CHUNK: Final = 1_048_576
_RATES: Final = range(4_000, 384_001)


class WAVDecoder(FormatDecoder):
    """Converts integer and float samples of any width to 16 bits.

    Chunks other than ``fmt`` and ``data`` are skipped. A second file directly after the first
    continues it, also after one of unknown length, which its header ends.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._skip = 0
        self._left: int | None = 0
        """Bytes of samples still to come; None: until the end of the stream."""
        self._bits = 0
        self._float = False
        self._channels = 0
        self._sound = False

    def feed(self, data: bytes) -> bytes:
        self._buffer += data
        pcm = bytearray()
        while True:
            if self._left != 0:
                samples = self._take()
                pcm += samples
                if not samples and self._left != 0:
                    return bytes(pcm)
            elif not self._next_chunk():
                return bytes(pcm)

    def finish(self) -> bytes:
        if not self._sound:
            raise AudioError("the WAV ends before its samples begin")
        return b""

    def _next_chunk(self) -> bool:
        """Read the header of one chunk; return whether it was complete."""
        buffer = self._buffer
        if self._skip:
            skipped = min(self._skip, len(buffer))
            del buffer[:skipped]
            self._skip -= skipped
        if self._skip or len(buffer) < 12:
            return False
        name, size = bytes(buffer[:4]), int.from_bytes(buffer[4:8], "little")
        if name in (b"RIFF", b"RF64"):
            del buffer[:12]  # the size of the file is not needed: its chunks have sizes
            return True
        if name == b"fmt ":
            if size > _MAX_CHUNK or size < 16:
                raise AudioError("the WAV's header is broken")
            if len(buffer) < 8 + size:
                return False
            self._format(bytes(buffer[8 : 8 + size]))
        elif name == b"data":
            if not self._channels:
                raise AudioError("the WAV does not say what its samples are")
            self._left = None if size in _UNKNOWN or size >= _ENDLESS else size
            self._sound = True
            del buffer[:8]
            return True
        elif self._sound:
            buffer.clear()  # data after the samples is not used, and often not a chunk
            return False
        elif size > _MAX_CHUNK:
            raise AudioError("the WAV's header is broken")
        self._skip = 8 + size + size % 2
        return True

    def _format(self, fields: bytes) -> None:
        code, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", fields)
        if code == _EXTENSIBLE and len(fields) >= 26:
            code = int.from_bytes(fields[24:26], "little")
        good = (code == _PCM and bits in (8, 16, 24, 32)) or (code == _FLOAT and bits in (32, 64))
        if not good:
            raise AudioError(f"the WAV's samples are of a kind that is not known ({code}, {bits})")
        if not 1 <= channels <= 8 or rate not in _RATES:
            raise AudioError(f"the WAV is said to have {channels} channels at {rate} Hz")
        if self._sound and rate != self.sample_rate:
            raise AudioError("the WAV changes its rate in the middle")
        self._float, self._channels, self._bits = code == _FLOAT, channels, bits
        self.sample_rate = rate

    def _take(self) -> bytes:
        size = self._channels * self._bits // 8
        if self._left is None:
            ready = self._next_file()
            if ready < size and len(self._buffer) - ready >= _FILE:
                del self._buffer[:ready]  # an incomplete last sample
                self._left = 0
                return b""
        else:
            ready = min(self._left, len(self._buffer))
        whole = ready // size * size
        if self._left is not None:
            self._left -= whole
            if self._left < size and ready > whole:
                self._left, self._skip = 0, self._left  # an incomplete last sample
        if not whole:
            return b""
        data = bytes(self._buffer[:whole])
        del self._buffer[:whole]
        return to_mono(self._samples(data).reshape(-1, self._channels))

    def _next_file(self) -> int:
        """Return where in the buffer another file begins, or may; its end if nowhere."""
        buffer, at = self._buffer, -1
        while (at := buffer.find(b"RIFF", at + 1)) >= 0:
            if b"WAVEfmt ".startswith(buffer[at + 8 : at + _FILE]):
                return at
        begun = next((n for n in (3, 2, 1) if buffer.endswith(b"RIFF"[:n])), 0)
        return len(buffer) - begun

    def _samples(self, data: bytes) -> NDArray[Any]:
        if self._float:
            values = np.nan_to_num(np.frombuffer(data, f"<f{self._bits // 8}"))
            whole: NDArray[Any] = (np.clip(values, -1, 1) * 32767).round().astype(np.int16)
            return whole
        if self._bits == 8:
            return (np.frombuffer(data, np.uint8).astype(np.int16) - 128) * np.int16(256)
        if self._bits == 24:  # the two upper bytes
            return np.frombuffer(data, np.uint8).reshape(-1, 3)[:, 1:].copy().view("<i2")[:, 0]
        if self._bits == 32:
            return (np.frombuffer(data, "<i4") >> 16).astype(np.int16)
        return np.frombuffer(data, "<i2")
