"""Audio files: any that can be decoded in, as 16 kHz PCM a piece at a time; WAV out."""

from __future__ import annotations

import wave
from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import Self

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.core.errors import ConfigError, ProviderError, ProviderUnavailable
from vixio.providers.audio_stream.decoder import AudioStreamDecoder
from vixio.providers.audio_stream.formats import AudioError, recognise

_PIECE = 65_536
"""Bytes read at a time: at most four seconds of speech at the lowest rates."""


def read_pcm(path: Path) -> Generator[bytes, None, None]:
    """Yield the audio of ``path`` as 16 kHz PCM, in pieces of any size. Blocking.

    WAV of any rate, width and number of channels, MP3 and Opus in Ogg, known by their content.
    Raises ConfigError with what to do when it cannot be read or is something else.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_PIECE)
            _refuse_other(path, head, whole=len(head) < _PIECE)
            decoder = AudioStreamDecoder(str(path), LISTEN_RATE)
            try:
                while head:
                    yield decoder.feed(head)
                    head = file.read(_PIECE)
                yield decoder.finish()
            finally:
                decoder.close()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except ProviderUnavailable as error:
        raise ConfigError(f"{error}, or convert it: {_conversion(path)}") from error
    except ProviderError as error:
        raise ConfigError(f"{error}; convert it: {_conversion(path)}") from error


def _refuse_other(path: Path, head: bytes, *, whole: bool) -> None:
    if not head:
        raise ConfigError(f"{path}: the file is empty")
    try:
        recognise(head, "auto", final=whole)
    except AudioError:
        raise ConfigError(
            f"{path}: neither WAV nor MP3 nor Ogg Opus; convert it: {_conversion(path)}"
        ) from None


def _conversion(path: Path) -> str:
    return f"ffmpeg -i {path.name} -ar {LISTEN_RATE} -ac 1 {path.stem}-16k.wav"


class WavWriter:
    """Writes a mono WAV of 16 bits; the file is there once it is complete, or not at all."""

    def __init__(self, path: Path, sample_rate: int) -> None:
        """Raises ConfigError when nothing can be written there."""
        self._path = path
        self._part = path.with_name(f".{path.name}.part")
        try:
            file = self._part.open("wb")
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror or error}") from error
        self._file = file
        self._wave = wave.open(file, "wb")  # noqa: SIM115 - closed by __exit__
        self._wave.setnchannels(1)
        self._wave.setsampwidth(BYTES_PER_SAMPLE)
        self._wave.setframerate(sample_rate)

    def write(self, pcm: bytes) -> None:
        """Add samples."""
        self._wave.writeframes(pcm)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._wave.close()
        self._file.close()
        if kind is None:
            self._part.replace(self._path)
        else:
            self._part.unlink(missing_ok=True)
