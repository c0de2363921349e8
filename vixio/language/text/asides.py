"""What stands in a model's text and is not read as written: formulas, citations, directions, faces.

Each is one of the readers of this package; this module asks those that may begin with a character.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from vixio.language.text.atoms import Atom
from vixio.language.text.characters import (
    BREAK,
    CITATION_END,
    CITATION_PART,
    CITATION_START,
    CLAUSES,
    ELLIPSIS,
    EMOJI_SLOT,
    FULL_STOPS,
    TERMINALS,
)
from vixio.language.text.citations import read_citation
from vixio.language.text.constructs import Reading
from vixio.language.text.emoticons import STARTS as EMOTICON_STARTS
from vixio.language.text.emoticons import read_emoticon, read_kaomoji
from vixio.language.text.formulas import read_formula
from vixio.language.text.latex import render
from vixio.language.text.latex_terms import Formula
from vixio.language.text.scan import Scan
from vixio.language.text.stage_directions import LONGEST, face_of, may_begin

_CLOSINGS: Final = {"*": "*", "_": "_", "(": ")", "（": "）", "[": "]", "【": "】"}
_CLAUSE_START: Final = re.compile(
    rf"(?:\A|[{BREAK}{TERMINALS}{FULL_STOPS}{CLAUSES}{ELLIPSIS}{EMOJI_SLOT}\"”’」』])[ ]?\Z"
)
_CLAUSE_ENDS: Final = (*".,!?;:…，。！？；：\n", "")
_SUB: Final = re.compile(r"<sub\s+alias=[\"']([^\"'<>]*)[\"']\s*>([^<>]*)</sub>", re.IGNORECASE)
_SUP: Final = re.compile(r"<sup>([^<>]{1,8})</sup>", re.IGNORECASE)
_XML: Final = re.compile(r"<\?xml[^<>]*>")
_TAG_WINDOW: Final = 200


class Aside(NamedTuple):
    """The end of what was read (-1: nothing of this kind), and what takes its place.

    ``emoji``: a face, "" for one without an emotion. With neither, ``text`` takes its place.
    """

    end: int
    content: Formula | Atom | None = None
    emoji: str | None = None
    text: str = ""


_NONE: Final = Aside(-1)
_Reader = Callable[[Scan, str], Aside | None]


def _formula(scan: Scan, before: str) -> Aside | None:
    found = read_formula(scan, before)
    if found is None or found.end < 0:
        return None if found is None else _NONE
    return Aside(found.end, render(found.text, after_number=before[-1:].isdigit()))


def _citation(scan: Scan, before: str) -> Aside | None:
    found = read_citation(scan, before)
    return None if found is None else Aside(found.end, text=found.text)


def _emoticon(scan: Scan, before: str) -> Aside | None:
    return _face(read_emoticon(scan, before))


def _kaomoji(scan: Scan, _before: str) -> Aside | None:
    return _face(read_kaomoji(scan))


def _face(found: Reading | None) -> Aside | None:
    return None if found is None else Aside(found.end, emoji=found.text)


def _direction(scan: Scan, before: str) -> Aside | None:
    """Read a stage direction where a clause begins, or in brackets where one ends."""
    text, start = scan.text, scan.at + 1
    opening = text[scan.at]
    starts = _CLAUSE_START.search(before) is not None
    if not starts and opening in "*_":
        return _NONE
    if start == len(text):
        return _NONE if scan.final else None
    if not may_begin(text[start : start + LONGEST]):
        return _NONE
    end = scan.find(_CLOSINGS[opening], start, LONGEST)
    if end is None:
        return None
    face = face_of(text[start:end]) if end >= 0 else None
    if face is None or text[end] == "\n":
        return _NONE
    following = scan.peek(end + 1 - scan.at)
    if following is None:
        return None
    if following == "(" or not (starts or following in _CLAUSE_ENDS):
        return _NONE
    return Aside(end + 1, emoji=face)


def _tag(scan: Scan, before: str) -> Aside | None:
    text, at = scan.text, scan.at
    if alias := _SUB.match(text, at):
        return Aside(alias.end(), Atom(alias[2], alias[1]))
    if power := _SUP.match(text, at):
        ordinal = len(power[1]) > 1 and power[1].isalpha()  # 1st
        attached = (before[-1:].isalnum() or before[-1:] == ")") and not ordinal
        return Aside(power.end(), render(f"^{{{power[1]}}}")) if attached else _NONE
    if xml := _XML.match(text, at):
        return Aside(xml.end())
    head = text[at : at + _TAG_WINDOW].lower()
    whole = scan.final or len(head) == _TAG_WINDOW or "\n" in head or "</" in head[1:-5]
    known = ("<sub alias=", "<sup>", "<?xml")
    if whole or not any(head.startswith(each) or each.startswith(head) for each in known):
        return _NONE
    return None


_READERS: Final[dict[str, tuple[_Reader, ...]]] = {}
for _starts, _reader in (
    ("\\¯(（ʕヽヾ╰╯٩ლᕕᕦづノ＼┗ԅ໒Σo", _kaomoji),
    ("$\\^", _formula),
    (f"[【:c{CITATION_START}{CITATION_PART}{CITATION_END}", _citation),
    ("*_(（[【", _direction),
    (EMOTICON_STARTS, _emoticon),
    ("<", _tag),
):
    for _character in _starts:
        _READERS[_character] = (*_READERS.get(_character, ()), _reader)

ASIDE_STARTS: Final = "".join(_READERS)
"""The characters with which these may begin."""


def read_aside(scan: Scan, before: str) -> Aside | None:
    """Read what begins here; None: more text is needed. ``before``: the text written before it."""
    for reader in _READERS[scan.text[scan.at]]:
        aside = reader(scan, before)
        if aside is None or aside.end >= 0:
            return aside
    return _NONE
