"""Writes a sentence as it is read: numbers, units, dates, money, codes and addresses in words.

Rules of our own do it in English and Chinese. In English wetext (the extra ``wetext``: the
finite-state grammars of WeTextProcessing) then reads what they leave, such as units and years. It
comes second, because it reads versions, telephone numbers and codes wrongly and raises
AssertionError for some texts. In Chinese it read no more sentences than the rules, and some worse
(docs/speech.md).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Final

from vixio.language.normalisation import chinese, english

_log = logging.getLogger(__name__)

_CONCERNED: Final = re.compile(r"[\d@#%℃℉°$€£¥￥]|[A-Za-z]\.[A-Za-z]")
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA: Final = re.compile("[\u3041-\u30ff]")
_LATIN: Final = re.compile("[A-Za-z]")
_THOUSANDS: Final = re.compile(r"\d,\d")

LONGEST: Final = 1_000
"""Characters; a longer text stays as it is. A sentence has 200 at most."""

LONGEST_FOR_GRAMMAR: Final = 40
"""Characters of a sentence that go through the grammar. It takes about 0.1 ms for each and holds
the interpreter's lock meanwhile, so this bounds what other devices wait for."""

Grammar = Callable[[str], str]
"""Writes a part of an English text in words. May raise anything."""


class Normaliser:
    """Shared by all devices. ``grammar``: None until :meth:`load`, if wetext is installed."""

    def __init__(self, grammar: Grammar | None = None) -> None:
        self._grammar = grammar

    def load(self) -> None:
        """Load wetext if it is installed. Blocking: half a second of processor time, 45 MB."""
        try:
            import wetext

            self._grammar = wetext.Normalizer(lang="en", operator="tn").normalize
        except ImportError:
            return
        except Exception as error:  # noqa: BLE001 - a broken package costs its readings alone
            _log.warning("wetext cannot be used", extra={"error": type(error).__name__})

    def read(self, text: str, language: str) -> str:
        """Return ``text`` as a voice should read it. Never raises.

        ``language`` (BCP 47) is that of the conversation. A text without digit or symbol, or
        in another language than English and Chinese, is returned as it is.
        """
        try:
            return read(text, language, self._grammar)
        except Exception as error:  # noqa: BLE001 - no sentence is lost to its digits
            _log.debug("a sentence is read as written", extra={"error": type(error).__name__})
            return text


def read(text: str, language: str, grammar: Grammar | None = None) -> str:
    """Return ``text`` as it is read in its language, by the rules and ``grammar``."""
    if len(text) > LONGEST or not _CONCERNED.search(text):
        return text
    read_in = _language_of(text, language)
    if read_in == "zh":
        return chinese.spelled(text)
    if read_in == "en":
        text = english.spelled(text)
        return _by_grammar(text, grammar) if grammar is not None else text
    return text


def _language_of(text: str, language: str) -> str:
    """Return in which language the numbers of ``text`` are read, en or zh; "": in another one."""
    main = language.partition("-")[0].lower()
    if main in {"ja", "ko"} or _KANA.search(text):
        return ""
    if _HAN.search(text):
        return "zh"
    if main in {"zh", "cmn", "yue"}:
        return "en" if _LATIN.search(text) else "zh"
    return main if main == "en" else ""


def _by_grammar(text: str, grammar: Grammar) -> str:
    """Return ``text`` with the places around its digits written by ``grammar``.

    A place is a word with digits and the two behind it, one of which may be its unit.
    """
    pieces = re.findall(r"\S+\s*|\s+", text)
    numbers = [index for index, piece in enumerate(pieces) if re.search(r"\d", piece)]
    near = {index + step for index in numbers for step in range(3)} - {len(pieces)}
    written, place, budget = "", "", LONGEST_FOR_GRAMMAR
    for index, piece in enumerate([*pieces, ""]):
        if index in near:
            place += piece
            continue
        if len(place) <= budget:
            budget -= len(place)
            place = _written(place, grammar)
        written, place = written + place + piece, ""
    return written


def _written(place: str, grammar: Grammar) -> str:
    """Return ``place`` in the words of ``grammar``, or as it is where that fails."""
    core = place.strip()
    if not core or _THOUSANDS.search(core):  # of 1,299 it makes "thousand two hundred …"
        return place
    try:
        made = grammar(core).replace('\\"', '"')
    except Exception as error:  # noqa: BLE001 - AssertionError for what it does not know
        _log.debug("a number is read as written", extra={"error": type(error).__name__})
        return place
    return place.replace(core, made) if len(made) * 2 >= len(core) else place
