"""Splits stripped text into sentences; returns each as soon as its end is certain."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from vixio.language.text.atoms import Atoms
from vixio.language.text.boundaries import MARK, Verdict, judge
from vixio.language.text.characters import (
    BREAK,
    CLOSERS,
    ELLIPSIS,
    EMOJI_SLOT,
    OPENERS,
    TERMINALS,
    count_wide,
    is_wide,
)

_QUOTES: Final = "\"'‘’"  # each may open a quotation, close it, or be an apostrophe
_OPENERS: Final = re.escape("".join(mark for mark in OPENERS if mark not in _QUOTES))
_CLOSERS: Final = re.escape("".join(mark for mark in CLOSERS if mark not in _QUOTES))
_STRAY: Final = re.compile(rf"\A[{TERMINALS}{ELLIPSIS}{_CLOSERS} {BREAK}]*")
_EMOJI: Final = re.compile(f"[{EMOJI_SLOT}]")
_OPENING: Final = re.compile(f"[{_OPENERS}]")
_CLOSING: Final = re.compile(f"[{_CLOSERS}]")
_BRACKETS: Final = re.compile(r"[(（\[［{]")
_BRACKETS_CLOSED: Final = re.compile(r"[)）\]］}]")

# Lengths are in fifths of a wide (CJK) character: a wide one is 5, any other 2, so that
# 80 Chinese characters and 200 Latin ones, about 15 seconds of speech, weigh the same.
_WIDE_WEIGHT: Final = 5
_NARROW_WEIGHT: Final = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """Lengths in weights: 2 a letter, 5 a wide (CJK) character."""

    first_clause: int = 24
    """From this length the first clause is a sentence of its own: 12 letters, 5 CJK characters."""
    phrase: int = 80
    """From this length a semicolon, or a space in Thai, ends a sentence."""
    longest: int = 400
    """The longest sentence: 200 letters, 80 CJK characters."""


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence as shown and as spoken. ``spoken`` is never empty.

    ``emoji``: whether the model wrote one inside it.
    """

    shown: str
    spoken: str
    emoji: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Face:
    """An emoji before the next sentence."""

    emoji: str


class SentenceSplitter:
    """Splits stripped text into sentences and the emoji before them. One per stretch of text."""

    def __init__(self, atoms: Atoms, limits: Limits) -> None:
        self._atoms = atoms
        self._limits = limits
        self._text = ""  # starts at the current sentence
        self._at = 0  # the end of the judged part
        self._weight = 0  # of the judged part
        self._clause = 0  # the end of the last clause before _at
        self._first = True
        self._stray = False  # closing marks may follow that belong to the sentence before
        self._open_quotes = 0
        self._open_straight = False

    def feed(self, text: str) -> Iterator[Words | Face]:
        """Yield the sentences that ``text`` completes."""
        self._text += text
        yield from self._run(final=False)

    def finish(self) -> Iterator[Words | Face]:
        """Yield the rest; no text follows."""
        yield from self._run(final=True)
        if self._text:
            yield from self._cut(len(self._text))

    def _run(self, *, final: bool) -> Iterator[Words | Face]:
        while True:
            if self._at == 0:
                yield from self._skip_to_sentence()
            mark = MARK.search(self._text, self._at)
            stop = mark.start() if mark else len(self._text)
            if self._exceeds(stop):
                yield from self._cut(self._best_cut())
                continue
            if not mark:
                return
            found = judge(self._text, stop, quoted=self._quoted(stop), final=final)
            if found.verdict is Verdict.WAIT:
                return
            if self._exceeds(found.end) and found.verdict is not Verdict.SENTENCE:
                yield from self._cut(self._best_cut())
            elif self._ends(found.verdict, found.end):
                self._stray = found.verdict is Verdict.AT_ONCE
                yield from self._cut(found.end)
            elif found.verdict in (Verdict.CLAUSE, Verdict.PHRASE):
                self._clause = found.end

    def _skip_to_sentence(self) -> Iterator[Face]:
        while True:
            text = self._text.lstrip(f" {BREAK}")
            if self._stray and text:
                text = _STRAY.sub("", text, count=1)
                self._stray = not text
            if not text or not _EMOJI.match(text):
                self._text = text
                return
            if emoji := self._atoms.take_emoji(text[0]):  # "": a face that shows nothing
                yield Face(emoji)
            self._text = text[1:]

    def _ends(self, verdict: Verdict, end: int) -> bool:
        if verdict in (Verdict.SENTENCE, Verdict.AT_ONCE):
            return True
        if verdict is Verdict.PHRASE and self._weight >= self._limits.phrase:
            return True
        return (
            verdict is not Verdict.NOTHING
            and self._first
            and self._weight >= self._limits.first_clause
            and not self._in_brackets(end)
        )

    def _exceeds(self, stop: int) -> bool:
        """Measure the text up to ``stop``; stop early and return true if it becomes too long."""
        if stop <= self._at:
            return False
        weight = self._weight + self._weigh(self._text[self._at : stop])
        if weight <= self._limits.longest:
            self._weight, self._at = weight, stop
            return False
        while self._weight <= self._limits.longest:
            self._weight += self._weigh(self._text[self._at])
            self._at += 1
        return True

    def _weigh(self, text: str) -> int:
        narrow = len(text) + self._atoms.spoken_length(text)
        return _NARROW_WEIGHT * narrow + (_WIDE_WEIGHT - _NARROW_WEIGHT) * count_wide(text)

    def _best_cut(self) -> int:
        """Return where to cut a sentence that is too long: at a clause, a space, or anywhere."""
        text, end = self._text, max(1, self._at - 1)
        if self._clause > end * 0.3:
            return self._clause
        space = end + 1
        while (space := text.rfind(" ", 1, space)) > end * 0.3:
            # What follows a space at the end may not be here yet: it counts as a digit.
            if not (text[space - 1].isdigit() and (space == end or text[space + 1].isdigit())):
                return space
        if self._clause:
            return self._clause
        cut = end
        while cut > end * 0.5 and _joined(text[cut - 1], text[cut : cut + 1]):
            cut -= 1
        return cut if cut > end * 0.5 else end

    def _cut(self, end: int) -> Iterator[Words]:
        sentence, self._text = self._text[:end], self._text[end:]
        self._at = self._weight = self._clause = 0
        self._open_quotes = self._quotes(sentence)
        self._open_straight ^= sentence.count('"') % 2 == 1
        if BREAK in sentence:
            self._open_quotes, self._open_straight = 0, False
        atom = self._atoms.restore(sentence)
        if any(map(str.isalnum, atom.spoken)):
            self._first = False
            yield Words(atom.shown, atom.spoken, _EMOJI.search(sentence) is not None)

    def _quotes(self, text: str) -> int:
        opened = self._open_quotes + len(_OPENING.findall(text)) - len(_CLOSING.findall(text))
        return max(0, opened)

    def _quoted(self, at: int) -> bool:
        text = self._text[:at]
        return self._quotes(text) > 0 or self._open_straight ^ (text.count('"') % 2 == 1)

    def _in_brackets(self, end: int) -> bool:
        text = self._text[:end]
        return len(_BRACKETS.findall(text)) > len(_BRACKETS_CLOSED.findall(text))


def _joined(before: str, after: str) -> bool:
    """Return whether two characters should not be separated, even in a forced cut."""
    if not after or unicodedata.category(after)[0] == "M" or "\u200d" in (before, after):
        return True
    return not is_wide(before) and before.isalnum() and after.isdigit()
