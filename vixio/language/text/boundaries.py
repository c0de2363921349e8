"""Decides where a mark in stripped text ends a sentence or a clause.

A verdict depends on the text before the mark and on as much text after it as makes it certain; WAIT
asks for more. So the same text gets the same verdicts however it is split.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final, NamedTuple

from vixio.language.text.abbreviations import stop_ends_sentence
from vixio.language.text.characters import (
    BREAK,
    CLAUSES,
    CLOSERS,
    ELLIPSIS,
    EMOJI_SLOT,
    FULL_STOPS,
    OPENERS,
    SPACELESS,
    STOP_AT_ONCE,
    TERMINALS,
    is_wide,
)

MARK: Final = re.compile(
    f"[{BREAK}{TERMINALS}{FULL_STOPS}{ELLIPSIS}{CLAUSES}{EMOJI_SLOT}]| (?<=[{SPACELESS}] )"
)
"""Possible boundaries."""

_TERMINAL: Final = re.compile(f"[{TERMINALS}]")
_CLOSERS: Final = re.compile(f"[{re.escape(CLOSERS)}]*")
_TERMINAL_RUN: Final = re.compile(f"[{TERMINALS}{ELLIPSIS}]*")
_STOP_RUN: Final = re.compile(f"[{FULL_STOPS}{ELLIPSIS}]*")
_DASH_RUN: Final = re.compile("[—–]*")
_EMOJI_RUN: Final = re.compile(f"[{EMOJI_SLOT} ]*")
_EMOJI: Final = re.compile(f"[{EMOJI_SLOT}]")
_SPACES: Final = re.compile(" *")
_NON_WORD: Final = re.compile(rf"[\s{re.escape(OPENERS)}{BREAK}\"']")
_GREEK: Final = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
_SPACELESS: Final = re.compile(f"[{SPACELESS}]")
_LONGEST_WORD: Final = 24
_LONGEST_RUN: Final = 64
"""Marks in a row that are read as one; bounds the text that an endless row can hold back."""


class Verdict(Enum):
    """The meaning of a mark."""

    SENTENCE = auto()
    """A sentence ends here."""
    AT_ONCE = auto()
    """A sentence ends here; closing marks after it would belong to it, but are not awaited."""
    PHRASE = auto()
    """A boundary if the sentence is long enough: a semicolon, a space in Thai."""
    CLAUSE = auto()
    """A boundary if speech has to begin, or the sentence is too long."""
    NOTHING = auto()
    WAIT = auto()


class Judgement(NamedTuple):
    """``end``: the position after the mark and everything that belongs to it."""

    verdict: Verdict
    end: int


_WAIT: Final = Judgement(Verdict.WAIT, 0)


def judge(text: str, at: int, *, quoted: bool, final: bool) -> Judgement:
    """Judge the mark at ``text[at]``; ``text`` begins with the sentence.

    ``quoted``: a quotation or bracket is open there, so a closing one is expected.
    """
    mark = text[at]
    if mark == BREAK:
        return Judgement(Verdict.SENTENCE, at + 1)
    if mark == " ":
        return _space(text, at, final=final)
    if _EMOJI.match(mark):
        return _emoji(text, at, final=final)
    if mark in STOP_AT_ONCE and not quoted:
        return Judgement(Verdict.AT_ONCE, at + 1)
    if mark in FULL_STOPS or mark == ELLIPSIS:
        return _full_stop(text, at, final=final)
    if _TERMINAL.match(mark):
        return _terminal(text, at, final=final)
    return _clause(text, at, quoted=quoted, final=final)


def _behind(pattern: re.Pattern[str], text: str, at: int, *, final: bool) -> int | None:
    """Return where the run of ``pattern`` at ``at`` ends; None: the text after it is not known."""
    match = pattern.match(text, at, at + _LONGEST_RUN)
    end = match.end() if match else at
    return None if end == len(text) and not final else end


def _terminal(text: str, at: int, *, final: bool) -> Judgement:
    run = _behind(_TERMINAL_RUN, text, at, final=final)
    end = None if run is None else _behind(_CLOSERS, text, run, final=final)
    if run is None or end is None:
        return _WAIT
    if end == len(text):
        return Judgement(Verdict.SENTENCE, end)
    following = text[end]
    western = text[run - 1] in "!?"
    if following in (BREAK, " "):
        if end > run:  # “Stop!” he said.
            next_word = _behind(_SPACES, text, end, final=final)
            if next_word is None:
                return _WAIT
            if text[next_word : next_word + 1].islower():
                return Judgement(Verdict.CLAUSE, end)
        return Judgement(Verdict.SENTENCE, end)
    if following in CLAUSES or following in FULL_STOPS:
        return Judgement(Verdict.NOTHING, end)
    if western and not is_wide(following) and not _EMOJI.match(following):
        return Judgement(Verdict.NOTHING, end)
    return Judgement(Verdict.SENTENCE, end)


def _full_stop(text: str, at: int, *, final: bool) -> Judgement:
    run = _behind(_STOP_RUN, text, at, final=final)
    end = None if run is None else _behind(_CLOSERS, text, run, final=final)
    if run is None or end is None:
        return _WAIT
    following = text[end : end + 1]
    if text[at] == ELLIPSIS or run - at > 1:
        if following and _TERMINAL.match(following):
            return Judgement(Verdict.NOTHING, end)
        return Judgement(Verdict.CLAUSE, end)
    if following == " ":
        return _stop_before_space(text, at, end, final=final)
    if following in ("", BREAK) or _EMOJI.match(following):
        return Judgement(Verdict.SENTENCE, end)
    # 3.5, example.com, e.g., – but 「OK.然后」
    ends = is_wide(following) and following.isalpha() and text[at - 1 : at].isalpha()
    return Judgement(Verdict.SENTENCE if ends else Verdict.NOTHING, end)


def _stop_before_space(text: str, at: int, end: int, *, final: bool) -> Judgement:
    """Judge the full stop at ``at``; its closing marks end at ``end``, where there is a space."""
    next_word = _behind(_SPACES, text, end, final=final)
    after = "" if next_word is None else text[next_word:]
    if end > at + 1:
        if next_word is None:
            return _WAIT
        if after[:1].islower():  # “Stop.” he said; (approx.) five
            return Judgement(Verdict.CLAUSE, end)
    word_at = at
    while word_at > max(0, at - _LONGEST_WORD) and not _NON_WORD.match(text[word_at - 1]):
        word_at -= 1
    head = text[:word_at].strip(f"{OPENERS}\"' ")
    ends = stop_ends_sentence(head, text[word_at:at], after, final=final)
    if ends is None:
        return _WAIT
    return Judgement(Verdict.SENTENCE if ends else Verdict.NOTHING, end)


def _clause(text: str, at: int, *, quoted: bool, final: bool) -> Judgement:
    mark, before = text[at], text[at - 1 : at]
    run = _behind(_DASH_RUN, text, at, final=final) if mark in "—–" else at + 1
    end = run
    if run is not None and (mark in ",;:—–" or quoted or before.isdigit()):
        end = _behind(_CLOSERS, text, run, final=final)
    if end is None:
        return _WAIT
    following = text[end : end + 1]
    if before.isdigit() and following.isdigit():
        return Judgement(Verdict.NOTHING, end)
    if mark in ",;:":
        return _western_clause(text, at, end, final=final)
    if mark == "–" and not (before == " " and following == " "):
        return Judgement(Verdict.NOTHING, end)
    return Judgement(Verdict.PHRASE if mark in "；؛" else Verdict.CLAUSE, end)


def _western_clause(text: str, at: int, end: int, *, final: bool) -> Judgement:
    mark, before, following = text[at], text[at - 1 : at], text[end : end + 1]
    if following not in ("", " ", BREAK) and not is_wide(following):
        return Judgement(Verdict.NOTHING, end)  # 1,000, 10:30
    if mark == "," and before.isdigit() and following == " ":
        next_word = _behind(_SPACES, text, end, final=final)
        if next_word is None:
            return _WAIT
        if text[next_word : next_word + 1].isdigit():  # January 5, 2027
            return Judgement(Verdict.NOTHING, end)
    if mark == ";":
        return Judgement(Verdict.SENTENCE if _GREEK.match(before) else Verdict.PHRASE, end)
    return Judgement(Verdict.CLAUSE, end)


def _space(text: str, at: int, *, final: bool) -> Judgement:
    if at + 1 == len(text):
        return Judgement(Verdict.NOTHING, at + 1) if final else _WAIT
    spaceless = _SPACELESS.match(text[at + 1])
    return Judgement(Verdict.PHRASE if spaceless else Verdict.NOTHING, at + 1)


def _emoji(text: str, at: int, *, final: bool) -> Judgement:
    end = _behind(_EMOJI_RUN, text, at, final=final)
    if end is None:
        return _WAIT
    following = text[end : end + 1]
    if following and (_TERMINAL.match(following) or following in CLAUSES + CLOSERS + ".…"):
        return Judgement(Verdict.NOTHING, end)
    return Judgement(Verdict.CLAUSE, end)
