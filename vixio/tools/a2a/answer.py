"""Collects the words of an agent's answer, and tells which of them are new.

Agents repeat themselves: a task at the end holds the artifacts that were streamed before, an
artifact grows by being sent again, and a final message is often the sum of what was reported while
the agent worked. What was spoken once is not spoken again.
"""

from __future__ import annotations

from vixio.core.tools.types import ImagePart
from vixio.tools.a2a.protocol import Piece

MAX_TEXT = 20_000
"""Characters of an answer; the rest is left out. Twenty minutes of speech."""

MAX_PIECES = 500
"""Messages and artifacts; further ones are left out."""

MAX_DATA = 32
MAX_IMAGES = 4


class Answer:
    """The words of one answer, by the message or artifact that they belong to."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._roles: dict[str, str] = {}
        self._data: dict[str, tuple[str, ...]] = {}
        self._images: dict[str, tuple[ImagePart, ...]] = {}
        self._last = ""
        self._left = MAX_TEXT
        self._left_repeated = 2 * MAX_TEXT

    def take(self, piece: Piece) -> str:
        """Add a piece; return the text in it that is new, to be spoken next."""
        if piece.key not in self._texts and len(self._texts) >= MAX_PIECES:
            return ""
        known = self._texts.get(piece.key, "")
        new = self._new(piece, known)
        self._roles[piece.key] = piece.role
        self._collect(piece)
        room = max(0, self._left)
        self._left -= len(new)
        new = new[:room]
        if not new.strip() and piece.key not in self._texts:
            # Known from elsewhere, or nothing: it still is the text of this piece.
            self._texts[piece.key] = piece.text[: max(0, self._left_repeated)]
            self._left_repeated -= len(piece.text)
            return ""
        replaced = not piece.append and not piece.text.startswith(known)
        self._texts[piece.key] = new if replaced else known + new
        if piece.role == "error" or not new:
            return ""
        apart = "\n" if self._last not in {"", piece.key} or replaced else ""
        self._last = piece.key
        return apart + new

    @property
    def text(self) -> str:
        """The answer; what was reported meanwhile where there is nothing else."""
        return self._joined("answer") or self._joined("progress")

    @property
    def error(self) -> str:
        """Why the task failed, in one line; empty if the agent does not say it."""
        return " ".join(self._joined("error").split())

    @property
    def data(self) -> str:
        """What is no text, in words for the model."""
        return "\n".join(part for parts in self._data.values() for part in parts)

    @property
    def images(self) -> tuple[ImagePart, ...]:
        """The images, a few at most."""
        return tuple(image for images in self._images.values() for image in images)[:MAX_IMAGES]

    def _new(self, piece: Piece, known: str) -> str:
        if piece.append:
            return piece.text
        if piece.text.startswith(known) and known:
            return piece.text[len(known) :]
        if not known and self._said_before(piece.text):
            return ""
        return piece.text

    def _said_before(self, text: str) -> bool:
        """Whether ``text`` is another piece, or all that was said so far."""
        words = text.split()
        if not words:
            return False
        said = [text.split() for text in self._texts.values()]
        return words in said or "".join(words) == "".join("".join(each) for each in said)

    def _collect(self, piece: Piece) -> None:
        data = (*self._data.get(piece.key, ()), *piece.data) if piece.append else piece.data
        images = (*self._images.get(piece.key, ()), *piece.images) if piece.append else piece.images
        if data:
            self._data[piece.key] = data[:MAX_DATA]
        if images:
            self._images[piece.key] = images[:MAX_IMAGES]

    def _joined(self, role: str) -> str:
        texts = (text.strip() for key, text in self._texts.items() if self._roles.get(key) == role)
        return "\n".join(dict.fromkeys(filter(None, texts)))
