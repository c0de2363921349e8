"""Two sentences that may have been said: the question which, and what is made of the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from vixio.core.chunk import Alternative, UserTurn
from vixio.core.consent import is_yes
from vixio.core.messages import message
from vixio.core.session.speech import Script, SpeechWithdrawn
from vixio.core.whole_phrases import bare

_QUESTIONS: Final = {1: "did_you_say", 2: "which_one"}

_MORE_WORDS: Final = 4
"""Around the value in an answer: "two minutes please", "I said two"."""


class Doubt(Script):
    """``among``: one or two sentences, the likeliest first. ``language``: of the question, BCP 47.

    It is the script of the question, which is not asked any more once the doubt is ``over``.
    """

    def __init__(self, among: Sequence[Alternative], language: str) -> None:
        self._among = among
        self._language = language
        self.over = False

    async def compose(self) -> str:
        """Return "Two or thirty minutes?", or whether the one was said."""
        told = [each.told for each in self._among]
        if len(told) > 1:
            (first, *rest), (_, *same) = told[0].split(), told[1].split()
            if rest == same:  # "two minutes or thirty minutes"
                told[0] = first
        words = message(
            _QUESTIONS[len(told)], self._language, **dict(zip("ab", told, strict=False))
        )
        return words[:1].upper() + words[1:]

    async def begin(self) -> None:
        """Raise SpeechWithdrawn if the user has said something by now."""
        if self.over:
            raise SpeechWithdrawn

    def chosen(self, turn: UserTurn) -> str | None:
        """Return the sentence that is meant by what the user answered; None: something else.

        Who says the same again, and is heard as before, means the likeliest.
        """
        if turn.alternatives:
            again = [each.told for each in turn.alternatives]
            return turn.text if again == [each.told for each in self._among] else None
        named = [each for each in self._among if _has(turn.text, (each.told,))]
        named = named or [each for each in self._among if _has(turn.text, each.values)]
        if len(named) == 1:
            return named[0].text
        return self._among[0].text if len(self._among) == 1 and is_yes(turn.text) else None


def _has(answer: str, any_of: Sequence[str]) -> bool:
    """Whether an answer has one of some words, and few others: it is no sentence of its own."""
    words = _words(answer)
    return any(
        f" {_words(each)} " in f" {words} " or (not each.isascii() and bare(each) in bare(answer))
        for each in any_of
        if len(words.split()) <= len(each.split()) + _MORE_WORDS
    )


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
