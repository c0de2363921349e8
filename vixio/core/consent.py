"""Consent: which words of a user mean yes, and which mean no.

An utterance is a yes only when every part of it agrees or is politeness: "yes, but …" and "yes and
…" are not. Anything that is not a yes is no consent; :func:`is_no` only serves a polite answer.
"""

from __future__ import annotations

from functools import cache

from vixio.core.whole_phrases import WholePhrases
from vixio.core.wordlists import word_list


def is_yes(text: str) -> bool:
    """Return whether ``text`` agrees, in any of the languages, and says nothing else."""
    return any(text in _phrases(code, "yes") for code in word_list("consent"))


def is_no(text: str) -> bool:
    """Return whether ``text`` refuses and says nothing else."""
    return any(text in _phrases(code, "no") for code in word_list("consent"))


@cache
def _phrases(code: str, answer: str) -> WholePhrases:
    words = word_list("consent")[code]
    return WholePhrases(words[answer], words["fill"], code)
