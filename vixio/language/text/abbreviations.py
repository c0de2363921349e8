"""Decides whether a full stop before a space ends a sentence, an abbreviation or an ordinal."""

from __future__ import annotations

import re
from typing import Final

from vixio.language.text.characters import is_wide


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The sentence always continues after these.
_NEVER_LAST: Final = _words(
    """
    mr mrs ms mx dr prof rev hon pres gov sen rep gen col maj capt cmdr lt sgt cpl adm insp supt
    st ste mt ft vs cf approx ca circa viz resp incl excl esp fig figs vol vols ed eds ch chap sec
    art eq ref tel attn dept univ assn bros messrs mme mlle
    e.g i.e z.b d.h u.a o.ä i.d.r s.o s.u v.a m.e p.ex c.-à-d
    bzw ggf evtl inkl exkl zzgl bspw sog vgl hr fr frl dipl ing mag geb gest ugs südl nördl
    sr sra srta dña ud uds pág págs núm aprox ej
    ср см г-н г-жа гр тов напр т.е т.к т.н
    """
)
# These may end a sentence; the next word decides.
_MAY_BE_LAST: Final = _words(
    "jr inc ltd corp co llc bros plc ave blvd rd sq bldg min max hr hrs sec mio mrd tsd"
)
# These end a list; a capital letter after them begins a sentence.
_LIST_END: Final = _words("etc usw usf al др пр т.д т.п и.т.д")
# Abbreviations before a number only: "No. 5", "Jan. 3", but "No. I do not."
_BEFORE_NUMBER: Final = _words(
    """
    no nos nr p pp pg par para abs kap abb tab s z.nr ext op
    jan feb mar apr jun jul aug sep sept oct nov dec okt dez mär
    """
)
_STARTERS: Final = _words(
    """
    the it he she we they you i this that these those there here then but and so if in on at what
    when where who how why do does did is are was were please would could can will let lets my your
    our his her their after before also however now yes no not for from as by to with one some
    der die das ein eine es er sie wir ihr ich und aber wenn dann dort hier was wer wie wo warum
    """
)
_MONTHS: Final = _words(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember
    januari februari marts maj juni juli oktober desember leden ledna února března dubna května
    tammikuuta helmikuuta maaliskuuta jan feb mär apr jun jul aug sep okt nov dez
    """
)
_BEFORE_ORDINAL: Final = _words(
    """
    der die das dem den des am im zum zur vom beim ab bis seit jeder jede jedes jeden ein eine
    einen einem einer mein meine sein seine ihr ihre unser unsere und oder den dem på til fra
    """
)
_DOTTED: Final = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_LIST_MARKER: Final = re.compile(r"\d{1,3}|[^\W\d_]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_LAST_WORD: Final = re.compile(r"([^\W\d_]+)\s*$")

LONGEST: Final = 12
"""Characters of the next word that are enough to decide."""


def stop_ends_sentence(head: str, word: str, after: str, *, final: bool) -> bool | None:
    """Return whether the full stop after ``word`` ends the sentence; None: more text is needed.

    ``head``: the sentence before ``word``. ``after``: the text received after the stop and its
    spaces. ``final``: no more text follows. The answer depends only on the text that made it
    certain, so it is the same however the text was split.
    """
    if not head and _LIST_MARKER.fullmatch(word):
        return False
    if not word or is_wide(word[-1]):
        return bool(word)
    low = word.lower()
    if low in _NEVER_LAST:
        return False
    if _decided_by_word(word, low):
        return _next_word_starts(head, word, after, final=final)
    if low not in _LIST_END and (len(word) > 4 or any(map(str.isdigit, word))):
        return True
    return _first_character_decides(low, after, final=final)


def _decided_by_word(word: str, low: str) -> bool:
    if word.isdigit():
        return len(word) <= 2
    if len(word) == 1:
        return word != "I" and low not in _BEFORE_NUMBER and word.isalpha()
    return low in _MAY_BE_LAST or (low not in _LIST_END and _DOTTED.fullmatch(word) is not None)


def _next_word_starts(head: str, word: str, after: str, *, final: bool) -> bool | None:
    """Judge initials ("J. Smith"), dotted forms ("U.S.") and short numbers ("3. Oktober")."""
    if not after:
        return True if final else None
    if is_wide(after[0]):
        return True
    if word.isdigit():
        if after[0].isdigit() or after[0].islower():
            return False
        before = _LAST_WORD.search(head)
        if before and before[1].lower() in _BEFORE_ORDINAL:
            return False
    match = _WORD.match(after, 0, LONGEST)
    end = match.end() if match else 0
    if end == len(after) and end < LONGEST and not final:
        return None
    following = after[:end]
    if word.isdigit():
        return following.lower() not in _MONTHS
    return following[:1].isupper() and following.lower() in _STARTERS


def _first_character_decides(low: str, after: str, *, final: bool) -> bool | None:
    """Judge short words: before a number ("No. 5"), or unknown abbreviations ("ggü. dem")."""
    if not after:
        return True if final else None
    if low in _BEFORE_NUMBER:
        return not after[0].isdigit()
    return not after[0].islower()
