"""Decodes files and streams to mono PCM at their own rate. Blocking: for threads.

A device encodes what it gets, and has the resampler; here nothing is converted but channels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from vixio.core.audio import BYTES_PER_SAMPLE
from vixio.core.errors import ConfigError, SoundFailed
from vixio.core.extras import how_to_install
from vixio.providers.audio_stream.formats import AudioError, FormatDecoder, Kind, recognise

if TYPE_CHECKING:
    from array import array
    from collections.abc import Generator

PIECE_S: Final = 0.6
"""Audio that is decoded at once: what the encoder takes to a thread in one go."""

FIRST_PIECE_S: Final = 0.12
"""The same of the first piece: it is waited for."""

_PIECE_BYTES: Final = 32_768
"""Of audio in memory, decoded at once: 0.2 s of WAV, 2 s of MP3."""

_RATES: Final = (8_000, 96_000)

Pcm = tuple[bytes, int]
"""Mono PCM and its rate in Hz."""


def load() -> None:
    """Import the libraries, which takes tenths of a second. Raises ConfigError."""
    try:
        import miniaudio  # noqa: F401 - loaded for later
        import pypinyin  # noqa: F401
        import rapidfuzz  # noqa: F401
        import tinytag  # noqa: F401
    except ImportError:
        raise ConfigError(f"tools.media needs: {how_to_install('media')}") from None


class FileDecoder:
    """A file from ``seconds`` on, at ``rate`` (Hz; 0: that of the file)."""

    def __init__(self, path: str, rate: int = 0, seconds: float = 0.0) -> None:
        """Raises SoundFailed."""
        import miniaudio

        self._piece = FIRST_PIECE_S
        try:
            rate = rate or miniaudio.get_file_info(path).sample_rate
            self.rate = min(max(rate, _RATES[0]), _RATES[1])
            self._stream: Generator[array[int], int, None] = miniaudio.stream_file(
                path, nchannels=1, sample_rate=self.rate, seek_frame=round(seconds * self.rate)
            )
        except (miniaudio.MiniaudioError, OSError, ValueError) as error:
            raise SoundFailed("media_format", f"not decoded: {error}") from None

    def read(self) -> Pcm | None:
        """Return the next piece; None: it is over. Raises SoundFailed."""
        import miniaudio

        seconds, self._piece = self._piece, PIECE_S
        frames = min(int(seconds * self.rate), 16_384)
        try:
            return self._stream.send(frames).tobytes(), self.rate
        except StopIteration:
            return None
        except miniaudio.MiniaudioError as error:
            raise SoundFailed("media_format", f"not decoded: {error}") from None

    def close(self) -> None:
        """Free the decoder; one that a thread still uses is freed with it."""
        with suppress(ValueError):
            self._stream.close()


class BytesDecoder:
    """Audio in memory from ``seconds`` on: what lies before is decoded and dropped."""

    def __init__(self, data: bytes, seconds: float = 0.0) -> None:
        self._pieces = self._decoded(data, seconds)

    def read(self) -> Pcm | None:
        """Return the next piece; None: it is over. Raises SoundFailed."""
        return next(self._pieces, None)

    def close(self) -> None:
        """Free the decoder; one that a thread still uses is freed with it."""
        with suppress(ValueError):
            self._pieces.close()

    def _decoded(self, data: bytes, seconds: float) -> Generator[Pcm, None, None]:
        with closing(StreamDecoder()) as decoder:
            for at in range(0, len(data) + _PIECE_BYTES, _PIECE_BYTES):
                piece = data[at : at + _PIECE_BYTES]
                for pcm, rate in decoder.feed(piece) if piece else decoder.finish():
                    dropped = min(round(seconds * rate), samples_of(pcm))
                    seconds -= dropped / rate
                    if rest := pcm[dropped * BYTES_PER_SAMPLE :]:
                        yield rest, rate


class StreamDecoder:
    """Bytes of a stream as they come. ``mp3``: that is what the server says it sends."""

    def __init__(self, *, mp3: bool = False) -> None:
        self._mp3 = mp3
        self._head = b""
        self._decoder: FormatDecoder | None = None

    def feed(self, data: bytes) -> list[Pcm]:
        """Take bytes and return what is complete. Raises SoundFailed."""
        return list(self._fed(data, final=False))

    def finish(self) -> list[Pcm]:
        """Return the rest at the end of the stream. Raises SoundFailed."""
        return list(self._fed(b"", final=True))

    def close(self) -> None:
        """Free the decoder. Idempotent."""
        if self._decoder is not None:
            self._decoder.close()

    def _fed(self, data: bytes, *, final: bool) -> Iterator[Pcm]:
        try:
            while data or final:
                if self._decoder is None:
                    self._head += data
                    kind = recognise(self._head, "mp3" if self._mp3 else "auto", final=final)
                    if kind is None:
                        return
                    data, self._head = self._head, b""
                    self._decoder = _decoder(kind)
                pcm = self._decoder.feed(data)
                rest = bytes(getattr(self._decoder, "rest", b""))
                if pcm:
                    yield pcm, self._decoder.sample_rate
                if not rest:
                    break
                # The station has changed its rate: what follows is another stream.
                self._decoder, data = None, rest
            if final and self._decoder is not None and (pcm := self._decoder.finish()):
                yield pcm, self._decoder.sample_rate
        except AudioError as error:
            raise SoundFailed("media_format", str(error)) from None


def _decoder(kind: Kind) -> FormatDecoder:
    if kind is Kind.WAV:
        from vixio.providers.audio_stream.wav import WAVDecoder

        return WAVDecoder()
    if kind is Kind.OPUS:
        from vixio.providers.audio_stream.opus import OggOpusDecoder

        return OggOpusDecoder(24_000)
    from vixio.providers.audio_stream.mp3 import MP3Decoder

    return MP3Decoder()


def samples_of(pcm: bytes) -> int:
    """Return how many samples ``pcm`` has."""
    return len(pcm) // BYTES_PER_SAMPLE
