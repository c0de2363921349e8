"""What the decoders of the single formats have in common, and which one a stream's start asks for.

Sources: RFC 3533 (Ogg), RFC 7845 (Opus in Ogg), ISO 11172-3 (MP3 headers), ID3v2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import Literal

from vixio.providers.audio_stream.mp3_frames import HEADER_BYTES, begins_with_frames, parse_header

AudioFormatName = Literal["auto", "pcm", "wav", "mp3", "opus"]
"""What was asked for; ``auto``: whatever the content says. ``opus`` is Opus in Ogg."""

_ENOUGH = 16
"""Bytes by which every format but MP3 without a tag is known."""

_TEXT_BYTES = 64


class AudioError(Exception):
    """The stream is no audio that can be decoded; one line that says what it is instead."""


class Kind(StrEnum):
    """The formats there are decoders for."""

    PCM = "pcm"
    WAV = "wav"
    MP3 = "mp3"
    OPUS = "opus"


class FormatDecoder(ABC):
    """One stream of one format to mono PCM at the stream's own rate."""

    sample_rate: int
    """Hz of the PCM; known, and never another one, once there is any."""

    @abstractmethod
    def feed(self, data: bytes) -> bytes:
        """Take more of the stream, cut anywhere; return the PCM that it completes.

        Raises AudioError.
        """

    def finish(self) -> bytes:
        """Return what is left when the stream is over. Raises AudioError."""
        return b""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Free what is held. Idempotent."""


def recognise(head: bytes, asked: AudioFormatName, *, final: bool) -> Kind | None:
    """Return the format of a stream that starts with ``head``; None: it takes more of it.

    ``final``: there is no more. Raises AudioError for what is nothing that can be decoded.
    """
    if len(head) < _ENOUGH and not final:
        return None
    if (kind := _by_signature(head)) is not None:
        return kind
    if (frame := parse_header(head)) is not None:
        if begins_with_frames(head, final=final):
            return Kind.MP3
        if len(head) < frame.size + HEADER_BYTES and not final:
            return None  # the next frame decides whether this is one
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
