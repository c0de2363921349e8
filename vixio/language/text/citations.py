"""Finds citations: ``[1]``, ``[[1]](https://…)``, ``【4†source】``, ``[cite: 2]``; and OpenAI's."""

from __future__ import annotations

import json
import re
from typing import Final

from vixio.language.text.characters import BREAK, CITATION_END, CITATION_PART, CITATION_START
from vixio.language.text.constructs import NONE, Reading, read_target
from vixio.language.text.scan import Scan

_NUMBERS: Final = r"\^?\d{1,3}\^?(?:(?:, ?|，|-|–)\^?\d{1,3}\^?)*"
_NAMES: Final = (
    r"(?:citations?|cite|sources?|ref|refs|doc|document|webpage|web|search|引用|来源|参考)"
    r"(?:_start|[:：_ ]? ?[\w\-.]*\d[\w\-., :†]*)?| ?citation needed| ?source ?| ?来源 ?"
)
_NUMERIC: Final = re.compile(rf"\[{_NUMBERS}\]")
_DOUBLE: Final = re.compile(rf"\[\[{_NUMBERS}\]\]")
_NAMED: Final = re.compile(rf"\[/?(?:{_NAMES})\]", re.IGNORECASE)
_CHINESE: Final = re.compile(
    rf"【(?:\d+(?::\d+)?†[^】\n]*|{_NUMBERS}|{_NAMES}|\{{[^】\n]*\}})】", re.IGNORECASE
)
_CHINESE_START: Final = re.compile(r"【[\dA-Za-z{引来参]")
_TURNS: Final = re.compile(
    r"(?:file)?cite(?:turn\d+(?:search|view|news|file|image|fetch|academia)\d+)+"
)
_OAI: Final = re.compile(r":contentReference\[oaicite:\d+\](?:\{index=\d+\})?")
_OAI_START: Final = ":contentReference[oaicite:"
_WORD: Final = re.compile(r"([A-Za-z_]\w*|[\u4e00-\u9fff]{1,4}) ?\Z")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A number in brackets behind these is what the sentence is about.
_OBJECTS: Final = _words(
    """
    section chapter figure table equation page example question array arr list args argv data
    item items entry element index step row column option number line key value note reference
    ref citation source see in of and or to from is the footnote
    """
)
_PUNCTUATION: Final = " .,;:!?)。，；：！？）、\n"
_WINDOW: Final = 64
_LONG: Final = 240


def read_citation(scan: Scan, before: str) -> Reading | None:
    """Read a citation; its text: what is to be said and shown instead, mostly nothing."""
    first = scan.text[scan.at]
    if first == "[":
        return _brackets(scan, before)
    if first == "【":
        return _chinese(scan, before)
    if first == CITATION_START:
        return _marked(scan)
    if first in (CITATION_PART, CITATION_END):
        return Reading(scan.at + 1)
    if first == ":":
        return _prefixed(scan, _OAI_START, _OAI)
    if before[-1:].isascii() and before[-1:].isalnum():
        return NONE
    return _prefixed(scan, "citeturn", _TURNS)


def _brackets(scan: Scan, before: str) -> Reading | None:
    text, at = scan.text, scan.at
    if scan.peek(1) == "[":
        found = _DOUBLE.match(text, at, at + _WINDOW)
        if not found:
            short = len(text) < at + _WINDOW and not scan.final
            return None if short and re.fullmatch(r"\[\[[\d^, –-]*\]?", text[at:]) else NONE
        linked = _linked(scan, found.end())
        if linked is None or not _is_meant(scan, linked.end, before):
            return linked
        return Reading(linked.end, found[0].strip("[]"))
    found = _NAMED.match(text, at, at + _WINDOW)
    if found:
        return _linked(scan, found.end())
    found = _NUMERIC.match(text, at, at + _WINDOW)
    if not found:
        return NONE
    linked = _linked(scan, found.end())
    if linked is None:
        return None
    return NONE if _is_meant(scan, linked.end, before) else linked


def _linked(scan: Scan, end: int) -> Reading | None:
    """Add the target of a link, if there is one."""
    if end == len(scan.text) and not scan.final:
        return None
    target = read_target(scan, end)
    return target if target is None else Reading(max(end, target.end))


def _is_meant(scan: Scan, end: int, before: str) -> bool:
    """Return whether a number in brackets is a part of what is said: an index, a list's label."""
    if not before.strip(f" {BREAK}") or before[-1] == BREAK or scan.text[scan.at + 1] == "0":
        return True
    word = _WORD.search(before)
    if word and (word[1].lower() in _OBJECTS or (word[1].isascii() and len(word[1]) == 1)):
        return True
    following = scan.text[end : end + 1]
    return bool(following) and following not in f"{_PUNCTUATION}[\"'”’*_" and following.isascii()


def _chinese(scan: Scan, before: str) -> Reading | None:
    text, at = scan.text, scan.at
    if at + 1 == len(text) and not scan.final:
        return None
    if not _CHINESE_START.match(text, at):
        return NONE
    end = scan.find("】", at + 1, _WINDOW)
    if end is None:
        return None
    found = _CHINESE.match(text, at, at + _WINDOW + 1)
    if not found:
        return NONE
    label = text[at + 1 : end].isdigit() and (not before or before[-1] in f" {BREAK}")
    return NONE if label else Reading(found.end())


def _marked(scan: Scan) -> Reading | None:
    end = scan.find(CITATION_END, scan.at + 1, _LONG)
    if end is None:
        return None
    if end < 0 or scan.text[end] == "\n":
        return Reading(scan.at + 1)
    kind, _, value = scan.text[scan.at + 1 : end].partition(CITATION_PART)
    return Reading(end + 1, _entity(value) if kind == "entity" else "")


def _entity(value: str) -> str:
    """Return the name in ``["city","Paris"]``."""
    try:
        found = json.loads(value)
    except ValueError:
        return ""
    name = found[1] if isinstance(found, list) and len(found) > 1 else ""
    return name if isinstance(name, str) else ""


def _prefixed(scan: Scan, prefix: str, form: re.Pattern[str]) -> Reading | None:
    text, at = scan.text, scan.at
    head = text[at : at + len(prefix)]
    if head != prefix:
        short = at + len(head) == len(text) and not scan.final
        return None if short and prefix.startswith(head) else NONE
    if not scan.final and len(text) < at + _WINDOW and not re.search(r"\s", text[at:]):
        return None
    found = form.match(text, at, at + _WINDOW)
    return Reading(found.end()) if found else NONE
