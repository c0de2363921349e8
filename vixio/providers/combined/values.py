"""The values of a command: its numbers, names and times, as two recognisers have heard them.

A recogniser of commands takes the nearest sentence that it knows, so the words of a command are
right more often than the value in it: "two minutes" and "thirty minutes" fit the same sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from vixio.core.chunk import Alternative
from vixio.core.whole_phrases import bare

if TYPE_CHECKING:
    from vixio.language.phrasebook import CompiledPhrases, Filled, Match


class CommandValues:
    """Those of ``text``, which means ``match`` by these phrases."""

    def __init__(self, phrases: CompiledPhrases, text: str, match: Match) -> None:
        self._phrases = phrases
        self._text = text
        self._match = match

    @classmethod
    def of(cls, phrases: CompiledPhrases, text: str) -> CommandValues | None:
        """Return the values of a command; None: it has none, or ``text`` is no command."""
        match = phrases.match(text)
        if match is None or not (match.filled or _numbers(match)):
            return None
        return cls(phrases, text, match)

    def alternatives(self, heard: str) -> tuple[Alternative, ...]:
        """Return what may have been meant if the other recogniser has ``heard`` these words.

        Empty: they say the same, or at least the same values. What was heard is first, if it means
        anything; if it does not, the command is the only one.
        """
        other = self._phrases.match(heard)
        confirmed = all(any(self._phrases.said(each, heard)) for each in self._match.filled)
        if other is None and not confirmed:
            heard = self._with_number_of(heard)
            other = self._phrases.match(heard)
        if other is None:
            return () if confirmed else (self._as_one(self._text, ()),)
        if _same(self._match, other, confirmed=confirmed):
            return ()
        ours = _differing(self._match.filled, other.filled)
        theirs = _differing(other.filled, self._match.filled)
        if self._match.tool != other.tool or not (ours and theirs):
            ours = theirs = ()
        return (self._as_one(heard, theirs), self._as_one(self._text, ours))

    def _with_number_of(self, heard: str) -> str:
        """Return the command with the only number that was ``heard``; empty: there is no such."""
        ours = [each for each in self._match.filled if type(each.value) is int]
        theirs = list(self._phrases.numbers_in(heard).values())
        said = self._phrases.said(ours[0], self._text)[0] if len(ours) == 1 else ""
        return self._text.replace(said, theirs[0], 1) if said and len(theirs) == 1 else ""

    def _as_one(self, text: str, differing: Sequence[Filled]) -> Alternative:
        said = [self._phrases.said(each, text) for each in differing]
        told = " ".join(filter(None, (part for each in said for part in each)))
        values = {words for words, _ in said if words}
        for each in differing:
            if type(each.value) is int:
                values.update(self._phrases.number_words(each.value))
        return Alternative(text, told or text.rstrip(".!?"), tuple(sorted(values)))


def _same(command: Match, other: Match, *, confirmed: bool) -> bool:
    """Whether both ask for the same; with ``confirmed`` there may be more words in ``other``."""
    if command.tool is None or other.tool is None:
        return command.same_as(other)
    if command.tool != other.tool:
        return False
    if confirmed and _numbers(command) == _numbers(other):
        return True
    return _bare(command.arguments) == _bare(other.arguments)


def _numbers(match: Match) -> dict[str, int]:
    """Return the numbers of a call, also those of words such as "half an hour" and "mute"."""
    return {name: value for name, value in match.arguments.items() if type(value) is int}


def _bare(arguments: dict[str, object]) -> dict[str, object]:
    return {
        name: bare(value) if isinstance(value, str) else value for name, value in arguments.items()
    }


def _differing(ours: Iterable[Filled], theirs: Iterable[Filled]) -> tuple[Filled, ...]:
    known = [(each.name, each.value) for each in theirs]
    return tuple(each for each in ours if (each.name, each.value) not in known)
