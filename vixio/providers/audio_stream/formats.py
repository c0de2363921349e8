"""The interface of the formats' decoders, and the detection of a stream's format.

Sources: RFC 3533 (Ogg), RFC 7845 (Opus in Ogg), ISO 11172-3 (MP3 headers), ID3v2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import Literal

from vixio.providers.audio_stream.mp3_frames import HEADER_BYTES, begins_with_frames, parse_header

AudioFormatName = Literal["auto", "pcm", "wav", "mp3", "opus"]
"""The requested format; ``auto``: detected. ``opus`` is Opus in Ogg."""

_ENOUGH = 16
"""Bytes that identify every format except MP3 without a tag."""

_TEXT_BYTES = 64


class AudioError(Exception):
    """The stream cannot be decoded. The message is one line."""


class Kind(StrEnum):
    """The formats that can be decoded."""

    PCM = "pcm"
    WAV = "wav"
    MP3 = "mp3"
    OPUS = "opus"


class FormatDecoder(ABC):
    """Decodes one stream of one format to mono PCM at the stream's rate."""

    sample_rate: int
    """Hz of the PCM; set before the first PCM is returned, and constant."""

    @abstractmethod
    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the stream; return the PCM that is ready. Raises AudioError."""

    def finish(self) -> bytes:
        """Return the remaining PCM at the end of the stream. Raises AudioError."""
        return b""

    def close(self) -> None:  # noqa: B027 - most decoders hold no resources
        """Free all resources. Idempotent."""


def recognise(head: bytes, asked: AudioFormatName, *, final: bool) -> Kind | None:
    """Return the format of a stream that starts with ``head``; None: more bytes are needed.

    ``final``: ``head`` is the whole stream. Raises AudioError if it cannot be decoded.
    """
    if len(head) < _ENOUGH and not final:
        return None
    if (kind := _by_signature(head)) is not None:
        return kind
    if (frame := parse_header(head)) is not None:
        if begins_with_frames(head, final=final):
            return Kind.MP3
        if len(head) < frame.size + HEADER_BYTES and not final:
            return None  # the next header confirms this one
    if _is_text(head):
        if len(head) < _TEXT_BYTES and not final:
            return None
        raise AudioError("the service sent text in the place of audio")
    if asked in ("pcm", "mp3"):
        return Kind(asked)  # MP3 may start in the middle of a frame
    raise AudioError(f"the service sent a format that is not known (it starts with {_hex(head)})")


def _by_signature(head: bytes) -> Kind | None:
    if head[:4] in (b"RIFF", b"RF64"):
        return Kind.WAV
    if head[:4] == b"OggS":
        return Kind.OPUS
    if head[:3] == b"ID3":
        return Kind.MP3
    other = {b"fLaC": "FLAC", b"\x1aE\xdf\xa3": "WebM", b"FORM": "AIFF"}.get(head[:4])
    if head[4:8] == b"ftyp":
        other = "MP4"
    if other is not None:
        raise AudioError(f"the service sent {other}: ask it for pcm, wav, mp3 or opus")
    return None


def _is_text(head: bytes) -> bool:
    start = head.lstrip()[:_TEXT_BYTES]
    return start[:1] in (b"{", b"[", b"<") and all(9 <= byte <= 126 for byte in start)


def _hex(head: bytes) -> str:
    return head[:8].hex(" ") or "nothing"
