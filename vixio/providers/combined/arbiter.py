"""Chooses between the words of a recogniser of commands and those of one of free speech.

The first knows what can be said, so it hears a command better than any other; but it knows nothing
else, and takes some foreign sentences for a command. Then the second one's words differ from it.
A value in a command, such as a number, counts only if both have heard it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from vixio.providers.asr import Recognition
from vixio.providers.combined.values import CommandValues

SURE = 0.66
AGREEMENT = 0.74
"""Both chosen on the tuning corpus of ``vixio bench speech`` (docs/speech.md)."""


@dataclass(frozen=True, slots=True)
class Arbiter:
    """``sure``: confidence from which a command counts without the other recogniser.

    ``agreement``: similarity (0…1) of the words of both from which a less sure one counts.
    """

    sure: float = SURE
    agreement: float = AGREEMENT

    def is_sure(self, commands: Recognition) -> bool:
        """Whether the words of the commands' recogniser count, whatever the other one hears."""
        return bool(commands.text) and (commands.confidence or 0.0) >= self.sure

    def choose(
        self, commands: Recognition, speech: Recognition, values: CommandValues | None = None
    ) -> Recognition:
        """Return the one that counts; rejected if something was said that neither is sure of.

        ``values``: of the command. Where both cannot be right, the result has alternatives.
        """
        if values is None and self.is_sure(commands):
            return commands
        if self.is_sure(commands) or (
            commands.text and speech.text and alike(commands.text, speech.text, self.agreement)
        ):
            return _together(commands, speech, values)
        if speech.text:
            return speech
        rejected = bool(commands.text) or commands.rejected or speech.rejected
        # What is rejected is no command; that one was begun is known without its words.
        begun = None if commands.text else commands.completeness
        guess = speech.guess or commands.text or commands.guess
        return Recognition("", rejected=rejected, completeness=begun, guess=guess)


def _together(
    commands: Recognition, speech: Recognition, values: CommandValues | None
) -> Recognition:
    """Return the command, or what may have been said if its values are not certain."""
    among = values.alternatives(speech.text) if values is not None else ()
    if among:
        return replace(commands, text=among[0].text, confidence=None, alternatives=among)
    known = [each.confidence for each in (commands, speech) if each.confidence is not None]
    return replace(commands, confidence=max(known, default=None))


def alike(one: str, other: str, least: float) -> bool:
    """Whether the letters and digits of two sentences have at least this similarity (0…1)."""
    letters = SequenceMatcher(None, _letters(one), _letters(other), autojunk=False)
    # The first two are upper bounds, quickly found: a long text is never compared as a whole.
    return (
        letters.real_quick_ratio() >= least
        and letters.quick_ratio() >= least
        and letters.ratio() >= least
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower().replace("%", "percent")))
