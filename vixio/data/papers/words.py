"""Cuts text into the words that it is found by; the same for what is kept and for a question.

Latin words are folded to their stem. Chinese, Japanese and Korean have no spaces: each two
neighbours are a word, and the last character of a run is one, so a single character is found as a
prefix.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from vixio.core.traditional import simplified

MAX_TERMS: Final = 40
"""Different words of one question."""

CJK: Final = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_PIECE: Final = re.compile(rf"(?P<cjk>[{CJK}]+)|[^\W_{CJK}]+")

_STOP: Final = frozenset(
    re.findall(
        "[a-z]+",
        "a about after again all also am an and any are as at be because been before being but by "
        "can cannot could did do document documents does doing don down during each few find for "
        "from further get give had has have having he her here hers him his how i if in into is "
        "it its itself just let ll look many may me might more most much must my myself need no "
        "nor not now of off on once only or other our out over own paper papers please re s same "
        "say says shall she should so some such t tell than that the their them then there these "
        "they this those through to too under until up us very was we were what when where which "
        "while who whom why will with would you your yours",
    )
)

_ASKING: Final = re.compile(
    "请问|請問|告诉我|告訴我|我想知道|什么|什麼|怎么办|怎么弄|怎么样|怎么回事|回事|怎么|怎樣|多少|哪里|哪儿|哪个|哪些|哪|"
    "为什么|为何|如何|是否|有没有|可以|应该|需要|关于|文件里|文档里|资料里|说明书里|"
    "[的了吗呢吧啊呀么是在有和与我你您他她它们这那个请几]"
)
"""What a Chinese question has around its subject."""

_ENDINGS: Final = (
    *("ization", "isation", "ational", "fulness", "iveness", "ousness", "ation", "ement", "ments"),
    *("ment", "ness", "ance", "ence", "able", "ible", "ally", "ity", "ive", "ous", "ful", "ion"),
    *("ant", "ent", "al", "ly", "er", "or"),
)
_LEAST: Final = 4
"""Letters that an ending leaves."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in order."""
    return list(_words(_folded(text)))


def terms_of(question: str) -> Sequence[str]:
    """Return the different words that a question looks for; without what only asks."""
    folded = _folded(question)
    terms = list(dict.fromkeys(_words(_ASKING.sub(" ", folded), question=True)))
    return (terms or list(dict.fromkeys(_words(folded, question=True))))[:MAX_TERMS]


def _folded(text: str) -> str:
    """Return a text without case, accents, wide forms and traditional characters."""
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", plain).casefold().translate(simplified())


def _words(folded: str, *, question: bool = False) -> Iterator[str]:
    for found in _PIECE.finditer(folded):
        piece = found[0]
        if not found["cjk"]:
            if piece not in _STOP:
                yield _stem(piece)
            continue
        for at in range(len(piece) - 1):
            yield piece[at : at + 2]
        if not question or len(piece) == 1:
            yield piece[-1]


def _stem(word: str) -> str:
    """Return an English word without its usual endings; others and numbers as they are."""
    if len(word) <= 3 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 3 and re.search("[aeiouy]", stem):
            doubled = stem[-1] == stem[-2] and stem[-1] not in "lsz"
            word = stem[:-1] if doubled else stem
            break
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            word = word[: -len(ending)]
            break
    if word.endswith(("e", "i", "y")) and len(word) > 3:
        word = word[:-1]
    return word
