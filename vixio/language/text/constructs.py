"""Readers of constructs with a start and an end: links, images, code, tags, entities, URLs.

Each reads a bounded stretch and returns where the construct ends and its text. An end of -1: there
is no construct. None: more text is needed to decide.
"""

from __future__ import annotations

import html
import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from vixio.language.text.characters import PLAIN_CHARACTERS, is_wide
from vixio.language.text.scan import Scan

# How far ahead the end of a construct is searched for, in characters. Without an end within it the
# text is plain: text that waits here is not spoken yet.
_CODE: Final = 160
_LABEL: Final = 300
_TARGET: Final = 600
_DEPTH: Final = 4  # brackets within a link's target
_TAG: Final = 120
_URL: Final = 1000
_RUN: Final = 16

_URL_STARTS: Final = ("https://", "http://", "www.")
_URL_CHARACTERS: Final = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
_TAG_FORM: Final = re.compile(
    r"</?([A-Za-z][\w:-]*)(?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>]+))?)*\s*/?>"
)
_AUTOLINK: Final = re.compile(r"<((?:https?://|mailto:)?[^\s<>]+[@.:/][^\s<>]+)>")
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,9});")
_ENTITY_PART: Final = re.compile(r"&#?[A-Za-z0-9]{0,10}")


class Reading(NamedTuple):
    """The end of a construct (-1: there is none), and its text."""

    end: int
    text: str = ""


NONE: Final = Reading(-1)


def read_label(scan: Scan, opening: int) -> Reading | None:
    """Read ``[label](target)`` (its text: the label) or a footnote ``[^1]``.

    ``opening``: the length of ``[`` or ``![``.
    """
    start = scan.at + opening
    end = scan.find("[]", start, _LABEL)
    if end is None:
        return None
    if end < 0 or scan.text[end] != "]":
        return NONE
    label = scan.text[start:end]
    if label.startswith("^") and len(label) < 16:
        return Reading(end + 1)
    if end + 1 == len(scan.text) and not scan.final:
        return None
    target = read_target(scan, end + 1)
    if target is None or target.end < 0:
        return target
    return Reading(target.end, label)


def read_target(scan: Scan, start: int) -> Reading | None:
    """Read ``(target)`` at ``start``."""
    if scan.text[start : start + 1] != "(":
        return NONE
    depth, place = 1, start + 1
    while 0 < depth <= _DEPTH:
        found = scan.find("()", place, _TARGET - (place - start))
        if found is None:
            return None
        if found < 0 or scan.text[found] == "\n":
            return NONE
        depth += 1 if scan.text[found] == "(" else -1
        place = found + 1
    if depth:
        return NONE
    return Reading(place, scan.text[start + 1 : place - 1])


def read_code(scan: Scan, run: int) -> Reading | None:
    """Read inline code that is opened by ``run`` backticks and closed by as many.

    An end of -1 with the text of the backticks: a code block begins here.
    """
    start = place = scan.at + run
    while place - start < _CODE:
        found = scan.find("`", place, _CODE - (place - start))
        if found is None:
            return None
        if found < 0 or scan.text[found] == "\n":
            ends = found >= 0 or len(scan.text) < start + _CODE
            return Reading(-1, "`" * run) if ends and run >= 3 else NONE
        closing = Scan(scan.text, final=scan.final)
        closing.at = found
        length = closing.run("`", _RUN)
        if length is None:
            return None
        place = found + length
        if length == run:
            return Reading(place, scan.text[start:found].strip())
    return NONE


def read_tag(scan: Scan) -> Reading | None:
    """Read ``<tag attribute=…>`` (its text: the name) or a comment."""
    following = scan.peek(1)
    if following is None:
        return None
    if not (following.isascii() and following.isalpha()) and following not in ("/", "!"):
        return NONE
    end = scan.find("<>", scan.at + 1, _TAG)
    if end is None:
        return None
    if end < 0 or scan.text[end] != ">":
        return NONE
    candidate = scan.text[scan.at : end + 1]
    tag = _TAG_FORM.fullmatch(candidate)
    if tag:
        return Reading(end + 1, tag[1].lower())
    if candidate.startswith("<!"):
        return Reading(end + 1)
    link = _AUTOLINK.fullmatch(candidate)
    return Reading(end + 1, candidate) if link else NONE


def read_entity(scan: Scan) -> Reading | None:
    """Read ``&name;``: its text is the character."""
    entity = _ENTITY.match(scan.text, scan.at)
    if entity:
        return Reading(entity.end(), html.unescape(entity[0]).translate(PLAIN_CHARACTERS))
    part = _ENTITY_PART.match(scan.text, scan.at)
    if part and part.end() == len(scan.text) and len(part[0]) < 11 and not scan.final:
        return None
    return NONE


def read_url(scan: Scan) -> Reading | None:
    """Read a URL with a scheme, or one that begins with ``www.``."""
    text, at = scan.text, scan.at
    head = text[at : at + 8].lower()
    if not head.startswith(_URL_STARTS):
        short = at + len(head) == len(text) and not scan.final
        return None if short and any(start.startswith(head) for start in _URL_STARTS) else NONE
    match = _URL_CHARACTERS.match(text, at, at + _URL)
    end = match.end() if match else at
    if end == len(text) and end < at + _URL and not scan.final:
        return None
    url = _without_trailing_punctuation(text[at:end])
    return Reading(at + len(url), url) if host_of(url) else NONE


def host_of(url: str) -> str:
    """Return the spoken part of a URL: its host, without "www."; "" if it has none."""
    try:
        host = urlsplit(url if "://" in url else f"http://{url}").hostname or ""
    except ValueError:  # brackets that do not hold an IPv6 address
        return ""
    host = host.removeprefix("www.")
    return host if any(map(str.isalnum, host)) else ""


def is_literal_marker(marker: str, run: int, before: str, following: str) -> bool:
    """Return whether a run of ``*`` or ``_`` is text: between spaces, digits or in a word."""
    if before == " " and following == " ":
        return run <= 2  # 5 * 3
    if marker == "*":
        return before.isdigit() and following.isdigit()  # 5*3
    words = before.isalnum() and following.isalnum()
    return words and not (is_wide(before) or is_wide(following))  # snake_case


def _without_trailing_punctuation(url: str) -> str:
    while url:
        last = url[-1]
        unbalanced = (last == ")" and url.count("(") < url.count(")")) or (
            last == "]" and url.count("[") < url.count("]")
        )
        if last not in ".,;:!?'*_~" and not unbalanced:
            break
        url = url[:-1]
    return url
