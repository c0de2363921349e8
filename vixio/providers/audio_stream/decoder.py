"""The decoder of TTS providers: any supported format to mono PCM at the provider's rate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from vixio.core.audio import BYTES_PER_SAMPLE
from vixio.core.errors import ConfigError, ProviderError, ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.core.streams import closing
from vixio.providers.audio_stream.formats import (
    AudioError,
    AudioFormatName,
    FormatDecoder,
    Kind,
    recognise,
)

_SLICE = 2_048
"""Bytes decoded in one step: at most one or two seconds of speech, which take 1 to 5 ms."""

_PCM_SLICE = 48_000
"""The same of PCM, raw or in WAV: a second at 24 kHz, which needs hardly any work."""


def _needs_mp3() -> str:
    return f"MP3 needs: {how_to_install('mp3')}"


def load(provider: str, asked: AudioFormatName) -> None:
    """Import the decoders' libraries. Blocking, for some tenths of a second the first time.

    All are imported, because a service may send another format than ``asked``; only the library for
    ``asked`` is required. Raises ProviderUnavailable.
    """
    from vixio.audio.libopus import load_libopus
    from vixio.providers.audio_stream import mixing, mp3

    try:
        mp3.load()
    except ImportError:
        if asked == "mp3":
            raise ProviderUnavailable(provider, _needs_mp3()) from None
    try:
        load_libopus()
    except ConfigError as error:
        if asked == "opus":
            raise ProviderUnavailable(provider, str(error)) from None
    mixing.Resampler(16_000, 24_000).feed(bytes(320), last=True)


class AudioStreamDecoder:
    """Decodes one response of a TTS service. Not thread-safe.

    ``sample_rate``: Hz of the output. ``asked``: the requested format. The actual format is
    detected, except for raw PCM, which has no signature. ``pcm_rate``: Hz of raw PCM, one channel,
    16 bits, little-endian.
    """

    def __init__(
        self,
        provider: str,
        sample_rate: int,
        *,
        asked: AudioFormatName = "auto",
        pcm_rate: int = 24_000,
    ) -> None:
        self._provider = provider
        self._rate = sample_rate
        self._asked = asked
        self._pcm_rate = pcm_rate
        self._head = b""
        self._kind: Kind | None = None
        self._decoder: FormatDecoder | None = None
        self._resampler: _Resampling | None = None
        self._closed = False

    @property
    def kind(self) -> str:
        """The detected format: pcm, wav, mp3 or opus; empty while unknown."""
        return self._kind or ""

    @property
    def step(self) -> int:
        """Bytes to feed at a time, so that no step takes long."""
        return _PCM_SLICE if self._kind in (Kind.PCM, Kind.WAV) else _SLICE

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the response; return the PCM that is ready, in whole samples.

        The time grows with the length of ``data``; :func:`decoded` limits it. Raises ProviderError
        if the response cannot be decoded.
        """
        return self._guarded(data, final=False)

    def finish(self) -> bytes:
        """Return the remaining PCM at the end of the response, and free all resources.

        Raises ProviderError, also for an empty response: no service sends silence that way.
        """
        try:
            return self._guarded(b"", final=True)
        finally:
            self.close()

    def close(self) -> None:
        """Free all resources. Idempotent. Later input is ignored."""
        self._closed = True
        if self._decoder is not None:
            self._decoder.close()

    def _guarded(self, data: bytes, *, final: bool) -> bytes:
        if self._closed:
            return b""
        try:
            return self._feed(data, final=final)
        except AudioError as error:
            self.close()
            raise ProviderError(self._provider, str(error), reason="service") from None
        except ImportError:
            self.close()
            raise ProviderUnavailable(self._provider, _needs_mp3()) from None
        except ConfigError as error:  # libopus is missing
            self.close()
            raise ProviderUnavailable(self._provider, str(error)) from None

    def _feed(self, data: bytes, *, final: bool) -> bytes:
        if self._decoder is None:
            self._head += data
            if final and not self._head:
                raise AudioError("the service sent no audio")
            kind = recognise(self._head, self._asked, final=final)
            if kind is None:
                return b""
            data, self._head = self._head, b""
            self._kind, self._decoder = kind, self._make(kind)
        pcm = self._decoder.feed(data)
        if final:
            pcm += self._decoder.finish()
        return self._resampled(pcm, final=final)

    def _resampled(self, pcm: bytes, *, final: bool) -> bytes:
        if self._resampler is None:
            if self._decoder is None or not pcm:
                return b""
            self._resampler = _Resampling(self._decoder.sample_rate, self._rate)
        return self._resampler.feed(pcm, last=final)

    def _make(self, kind: Kind) -> FormatDecoder:
        # Imported here, because each needs a library of its own.
        if kind is Kind.PCM:
            return _RawPCM(self._pcm_rate)
        if kind is Kind.WAV:
            from vixio.providers.audio_stream.wav import WAVDecoder

            return WAVDecoder()
        if kind is Kind.OPUS:
            from vixio.providers.audio_stream.opus import OggOpusDecoder

            return OggOpusDecoder(self._rate)
        from vixio.providers.audio_stream.mp3 import MP3Decoder, load

        load()
        return MP3Decoder()


class _RawPCM(FormatDecoder):
    def __init__(self, sample_rate: int) -> None:
        self.sample_rate = sample_rate
        self._carry = b""  # half a sample

    def feed(self, data: bytes) -> bytes:
        data = self._carry + data
        whole = len(data) // BYTES_PER_SAMPLE * BYTES_PER_SAMPLE
        self._carry = data[whole:]
        return data[:whole]


class _Resampling:
    def __init__(self, rate_in: int, rate_out: int) -> None:
        from vixio.providers.audio_stream.mixing import Resampler

        self._resampler = Resampler(rate_in, rate_out) if rate_in != rate_out else None

    def feed(self, pcm: bytes, *, last: bool) -> bytes:
        return self._resampler.feed(pcm, last=last) if self._resampler is not None else pcm


async def decoded(
    pieces: AsyncIterator[bytes], decoder: AudioStreamDecoder
) -> AsyncIterator[bytes]:
    """Yield the PCM of a response as it arrives, in non-empty pieces.

    It yields to the event loop between steps, and closes ``pieces`` and the decoder at its end.
    Raises ProviderError.
    """
    try:
        async with closing(pieces) as incoming:
            async for piece in incoming:
                start = 0
                while start < len(piece):
                    if start:
                        await asyncio.sleep(0)
                    end = start + decoder.step
                    if pcm := decoder.feed(piece[start:end]):
                        yield pcm
                    start = end
        if pcm := decoder.finish():
            yield pcm
    finally:
        decoder.close()
