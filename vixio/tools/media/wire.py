"""What a streaming server sends, as bytes in and events out: HTTP heads, chunks, ICY metadata.

Servers of the ICY kind answer with ``ICY 200 OK``, which HTTP libraries refuse. The metadata are
those of SHOUTcast: behind every ``icy-metaint`` bytes of audio one byte with the length of a text
in sixteenths, and the text, such as ``StreamTitle='Artist - Title';``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from vixio.core.errors import SoundFailed

MAX_HEAD_BYTES: Final = 16_384
_MAX_TITLE_CHARS: Final = 200
_TITLE: Final = re.compile(r"StreamTitle='(.*?)';", re.DOTALL)
_MAX_LINE: Final = 1_024


@dataclass(frozen=True, slots=True)
class Head:
    """A status and the headers behind it, their names in lower case."""

    status: int
    headers: dict[str, str]

    @classmethod
    def read(cls, data: bytes) -> Head:
        """Parse the head of an answer. Raises SoundFailed."""
        first, *lines = data.decode("latin-1").split("\r\n")
        parts = first.split(None, 2)
        if len(parts) < 2 or not parts[0].startswith(("HTTP/", "ICY")) or not parts[1].isdigit():
            raise SoundFailed("media_unreachable", "the answer is not HTTP")
        pairs = (line.partition(":") for line in lines if ":" in line)
        return cls(int(parts[1]), {name.strip().lower(): value.strip() for name, _, value in pairs})

    @property
    def content_type(self) -> str:
        """The type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def number(self, name: str) -> int:
        """Return a header that is a whole number; 0 for any other."""
        value = self.headers.get(name, "")
        return int(value) if value.isdecimal() and len(value) < 16 else 0


class Chunks:
    """Removes the chunked transfer coding (RFC 9112 §7.1)."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._left = 0
        self._between = False
        self.ended = False

    def feed(self, data: bytes) -> bytes:
        """Take bytes and return those of the body. Raises SoundFailed."""
        self._buffer += data
        body = bytearray()
        while self._buffer and not self.ended:
            if self._left:
                piece = self._buffer[: self._left]
                del self._buffer[: len(piece)]
                self._left -= len(piece)
                self._between = not self._left
                body += piece
                continue
            line, found, _ = bytes(self._buffer[:_MAX_LINE]).partition(b"\r\n")
            if not found:
                if len(self._buffer) >= _MAX_LINE:
                    raise SoundFailed("media_unreachable", "a chunk has no length")
                break
            del self._buffer[: len(line) + 2]
            if self._between and not line:
                self._between = False
                continue
            try:
                self._left = int(line.partition(b";")[0], 16)
            except ValueError:
                raise SoundFailed("media_unreachable", "a chunk has no length") from None
            self.ended = not self._left
        return bytes(body)


class Icy:
    """Divides audio and metadata. ``every``: bytes of audio between; 0: there are no metadata."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._audio_left = every
        self._text = bytearray()
        self._text_left = -1

    def feed(self, data: bytes) -> tuple[bytes, list[str]]:
        """Take bytes; return the audio and the titles in it."""
        if not self._every:
            return data, []
        audio, titles, at = bytearray(), [], 0
        while at < len(data):
            if self._audio_left:
                piece = data[at : at + self._audio_left]
                self._audio_left -= len(piece)
                audio += piece
                at += len(piece)
                continue
            if self._text_left < 0:
                self._text_left = data[at] * 16
                at += 1
            piece = data[at : at + self._text_left]
            self._text += piece
            self._text_left -= len(piece)
            at += len(piece)
            if not self._text_left:
                if (title := title_of(bytes(self._text))) is not None:
                    titles.append(title)
                self._text.clear()
                self._text_left, self._audio_left = -1, self._every
        return bytes(audio), titles


def title_of(text: bytes) -> str | None:
    """Return the title in ICY metadata; None: they have none."""
    try:
        words = text.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        words = text.rstrip(b"\0").decode("latin-1")
    found = _TITLE.search(words)
    title = (
        " ".join("".join(c if c.isprintable() else " " for c in found[1]).split()) if found else ""
    )
    return title[:_MAX_TITLE_CHARS] or None
