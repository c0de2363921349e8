"""Streaming Opus in Ogg (RFC 7845) by libopus, packet by packet."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from vixio.audio.libopus import LibopusState, load_libopus
from vixio.core.audio import BYTES_PER_SAMPLE
from vixio.providers.audio_stream.formats import AudioError, FormatDecoder
from vixio.providers.audio_stream.ogg import OggDemuxer, Page

_GRANULE_RATE: Final = 48_000
"""Rate of pre-skip and granule positions, for any input rate (RFC 7845 §4)."""

_RATES: Final = (8_000, 12_000, 16_000, 24_000, 48_000)
_MAX_PACKET_MS: Final = 120


class OggOpusDecoder(FormatDecoder):
    """Decodes with libopus, which resamples to the wanted rate if it can, and downmixes stereo."""

    def __init__(self, wanted_rate: int) -> None:
        load_libopus()
        from opuslib.api import c_int16_pointer, decoder

        self.sample_rate = wanted_rate if wanted_rate in _RATES else _GRANULE_RATE
        self._create, self._destroy = decoder.create_state, decoder.destroy
        self._decode = decoder.libopus_decode
        self._samples = self.sample_rate * _MAX_PACKET_MS // 1000
        self._buffer = (ctypes.c_int16 * self._samples)()
        self._out = ctypes.cast(self._buffer, c_int16_pointer)
        self._demuxer = OggDemuxer()
        self._state: LibopusState | None = None
        self._gain = 1.0
        self._headers = 0
        self._page: Page | None = None
        self._left: int | None = None
        self._pre_skip = 0
        self._skip = 0
        self._given = 0
        self._sound = False

    def feed(self, data: bytes) -> bytes:
        pcm = b"".join(self._take(packet, page) for packet, page in self._demuxer.feed(data))
        return self._loudness(pcm)

    def finish(self) -> bytes:
        self.close()
        if not self._sound:
            raise AudioError("the Ogg Opus stream holds no sound")
        return b""

    def close(self) -> None:
        if self._state is not None:
            self._state.close()

    def _take(self, packet: bytes, page: Page) -> bytes:
        if page is not self._page:
            self._page = page
            self._left = self._length_of(page)
        if page.first and packet.startswith(b"OpusHead"):
            self._begin(packet)
        elif self._headers:
            self._headers -= 1  # OpusTags
        elif packet:  # for an empty packet libopus would conceal a loss, with invented audio
            return self._packet(packet)
        return b""

    def _length_of(self, page: Page) -> int | None:
        """Return the number of samples to use of this page, None: all of them.

        The last packet is padded; the granule position marks the end of the sound (§4.4).
        """
        if not page.last or page.granule <= 0:
            return None
        end = (page.granule - self._pre_skip) * self.sample_rate // _GRANULE_RATE
        left = end - self._given
        return left if left > 0 else None  # ignores an invalid position

    def _begin(self, head: bytes) -> None:
        """Read the identification header (§5.1). A second one starts the next stream."""
        if len(head) < 19 or head[8] & 0xF0:
            raise AudioError("the Opus header is broken")
        if not 1 <= head[9] <= 2 or head[18] != 0:
            raise AudioError(f"the Opus stream has {head[9]} channels: one or two can be decoded")
        self._pre_skip = int.from_bytes(head[10:12], "little")
        decibels = int.from_bytes(head[16:18], "little", signed=True) / 256
        self._gain = 10 ** (decibels / 20)
        self._skip = self._pre_skip * self.sample_rate // _GRANULE_RATE
        self._headers, self._given = 1, 0
        self.close()
        self._state = LibopusState(self._create(self.sample_rate, 1), self._destroy)

    def _packet(self, packet: bytes) -> bytes:
        if self._state is None or self._state.pointer is None:
            return b""
        count: int = self._decode(
            self._state.pointer, packet, len(packet), self._out, self._samples, 0
        )
        if count <= 0:
            return b""
        self._sound = True
        skipped = min(self._skip, count)
        self._skip -= skipped
        if self._left is not None:
            count = min(count, skipped + self._left)
            self._left -= count - skipped
        self._given += count - skipped
        whole: Any = ctypes.string_at(self._buffer, count * BYTES_PER_SAMPLE)
        return bytes(whole[skipped * BYTES_PER_SAMPLE :])

    def _loudness(self, pcm: bytes) -> bytes:
        if self._gain == 1.0 or not pcm:
            return pcm
        louder = np.frombuffer(pcm, "<i2") * self._gain
        return np.clip(louder, -32768, 32767).round().astype("<i2").tobytes()
