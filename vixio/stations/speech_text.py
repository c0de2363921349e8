"""Turns a model's streamed text into sentences for the screen and for the voice.

The screen shows the text without Markdown and without emoji (a device's fonts have no emoji; its
face shows the emotion), formulas in plain symbols, and URLs in full. The voice speaks the same with
formulas in words and URLs shortened to their host. Neither has citations, stage directions,
emoticons or the tags of SSML.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Final

from vixio.core.emotions import EMOTIONS
from vixio.language.text.atoms import Atoms
from vixio.language.text.markdown import MarkdownStripper
from vixio.language.text.splitter import Face, Limits, SentenceSplitter, Words

_TAG: Final = re.compile(r"\s*\[([A-Za-z]{2,12})\]")
_TAG_BEGUN: Final = re.compile(r"\s*(?:\[(?:[A-Za-z]{1,12}\]?)?)?")
_SLICE: Final = 512
"""A longer delta is read in slices, so that few placeholders wait at the same time."""


class SpeechText:
    """One stretch of a model's text: from the beginning of a reply, or a tool call, to the next.

    The same text gives the same sentences, in whatever pieces it is fed. ``language`` (BCP 47) is
    that of the voice, "" if it is not known: formulas are spoken in it where their sentence does
    not tell its own.
    """

    def __init__(self, limits: Limits | None = None, language: str = "") -> None:
        self._atoms = Atoms(language)
        self._markdown = MarkdownStripper(self._atoms)
        self._splitter = SentenceSplitter(self._atoms, limits or Limits())
        self._opening: str | None = ""  # until it is known whether the text begins with a tag

    def feed(self, delta: str) -> Iterator[Words | Face]:
        """Yield the sentences that ``delta`` completes."""
        if self._opening is not None:
            self._opening += delta
            if _TAG_BEGUN.fullmatch(self._opening):
                self._opening = self._opening.lstrip()
                return
            delta = yield from self._read_tag(self._opening)
        yield from self._read(delta)

    def finish(self) -> Iterator[Words | Face]:
        """Yield the rest; no text follows."""
        if self._opening:
            yield from self._read((yield from self._read_tag(self._opening)))
        yield from self._splitter.feed(self._markdown.finish())
        yield from self._splitter.finish()

    def _read(self, delta: str) -> Iterator[Words | Face]:
        for start in range(0, len(delta), _SLICE):
            yield from self._splitter.feed(self._markdown.feed(delta[start : start + _SLICE]))

    def _read_tag(self, opening: str) -> Generator[Face, None, str]:
        """Yield the face of a leading ``[emotion]``; return the text after it."""
        self._opening = None
        tag = _TAG.match(opening)
        emoji = EMOTIONS.get(tag[1].lower()) if tag else None
        if not tag or not emoji or opening[tag.end() : tag.end() + 1] == "(":
            return opening
        yield Face(emoji)
        return opening[tag.end() :]


def clean(text: str) -> str:
    """Return ``text`` in one line without Markdown and emoji, as it is shown."""
    atoms = Atoms()
    markdown = MarkdownStripper(atoms)
    return atoms.restore(markdown.feed(text) + markdown.finish()).shown
