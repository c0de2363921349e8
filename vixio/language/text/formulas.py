r"""Finds formulas in LaTeX: ``\(…\)``, ``\[…\]``, ``$…$``, ``$$…$$``, and commands without these.

Each reader looks a bounded stretch ahead and gives up at what is prose, so that money, paths and
regular expressions are left alone and hold nothing back.
"""

from __future__ import annotations

import re
from typing import Final

from vixio.language.text.constructs import NONE, Reading
from vixio.language.text.latex_table import ARGUMENTS, COMMANDS, ENVIRONMENTS, FRACTIONS, TEXTS
from vixio.language.text.scan import Scan

_INLINE: Final = 200
_LONG: Final = 600
_ARGUMENT: Final = 200

_PIECE: Final = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]+|.", re.DOTALL)
_NAME: Final = re.compile(r"\\([A-Za-z]*)")
_ONE_LETTER: Final = re.compile(r"(?<!\\)\\[A-Za-z](?![A-Za-z])|:\\")
_MATHEMATICAL: Final = re.compile(
    r"\\(?:[A-Za-z]{2,}|[%,])|[A-Za-z0-9)}][ ]*[=+\-*/^_<>×÷≤≥≠±≈|]"
    r"|[=+\-<>≤≥≠≈√∫∑][ ]*[A-Za-z0-9(√π]"
    r"|\A\s*(?:[\d.,:]+|[A-Za-z]'?|[A-Z]{2,4}|[a-z]\([a-z]\))\s*\Z"
)
_DEGREE: Final = re.compile(r"(?:\^(?:\\circ|\{\\circ\})|\\degree)\Z")
_UNIT: Final = re.compile(r"(?:\\,|[ ~])?[CF](?![A-Za-z])")
_POWER: Final = re.compile(r"-?\d+|[A-Za-z](?![A-Za-z])")
_FENCES: Final = frozenset(
    ["left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "bigg", "Bigg"]
)


def read_formula(scan: Scan, before: str) -> Reading | None:
    r"""Read a formula that begins with ``$``, ``\`` or ``^`` (its text: LaTeX).

    ``before``: the text written before it, as far as it is kept.
    """
    first, following = scan.text[scan.at], scan.peek(1)
    if first == "^":
        attached = before[-1:].isalnum() or before[-1:] == ")"
        return _commands(scan) if attached else NONE
    if first == "$" and before[-1:].isascii() and before[-1:].isalpha():
        return NONE  # US$3
    if following is None:
        return None
    if first == "$":
        return _dollars(scan, following)
    if following and following in "([":
        return _delimited(scan, 2, "\\)" if following == "(" else "\\]", _LONG, 3)
    path = before[-1:] in ("\\", ":", ".", "_", "~") and before != ""
    word = before[-2:].isascii() and before[-2:].isalpha() and len(before[-2:]) == 2
    return NONE if path or word else _commands(scan, after_term=before[-1:].isalnum())


def _dollars(scan: Scan, following: str) -> Reading | None:
    if following != "$":
        return NONE if following in ("", " ", "\n") else _delimited(scan, 1, "$", _INLINE, 2)
    run = scan.run("$", 3)
    if run is None:
        return None
    return _delimited(scan, 2, "$$", _LONG, 2) if run == 2 else NONE


def _delimited(scan: Scan, opening: int, closing: str, limit: int, prose: int) -> Reading | None:
    """Read to ``closing``; ``prose``: so many words in a row are not a formula."""
    text, start = scan.text, scan.at + opening
    place, stop = start, min(len(text), start + limit)
    words = depth = quiet = 0
    command = ""
    while place < stop:
        found = _PIECE.match(text, place, stop)
        piece = found[0] if found else ""
        end = place + len(piece)
        if end == len(text) and not scan.final and (piece == "\\" or piece[-1:].isalpha()):
            return None
        if not quiet and text.startswith(closing, place):
            return _closed(scan, start, place, place + len(closing))
        if piece == "$" and closing == "$$" and end == len(text) and not scan.final:
            return None
        if not quiet and _is_prose(piece, text[place - 1], closing):
            return NONE
        if piece == "{":
            depth += 1
            quiet = quiet or (depth if command in TEXTS else 0)
        elif piece == "}":
            quiet = 0 if quiet == depth else quiet
            depth -= 1
        if piece.isascii() and piece.isalpha():
            words += len(piece) > 1 and not quiet
        elif piece != " ":
            words = 0
        if words >= prose:
            return NONE
        command = piece[1:] if piece[0] == "\\" else ""
        place = end
    return None if stop == len(text) < start + limit and not scan.final else NONE


def _is_prose(piece: str, before: str, closing: str) -> bool:
    if piece == "\n":
        return closing == "$" or before == "\n"
    if closing != "$":
        return piece in ("$", "\\(", "\\[") and closing != "$$"
    return piece in ("。", "！", "？") or (piece == " " and before in (".", "!", "?"))


def _closed(scan: Scan, start: int, end: int, after: int) -> Reading | None:
    content = scan.text[start:end]
    if after - end == 1:
        following = scan.text[after : after + 1]
        if not following and not scan.final:
            return None
        if content[-1:] == " " or (following.isascii() and following.isalnum()):
            return NONE  # $5 and $10
    if _ONE_LETTER.search(content) or not _MATHEMATICAL.search(content):
        return NONE
    return Reading(after, content)


# -- commands without delimiters -----------------------------------------------------------------


def _commands(scan: Scan, *, after_term: bool = True) -> Reading | None:
    """Read the commands and scripts that follow each other without a space."""
    place = scan.at
    source = ""
    while True:
        item = _item(scan, place, first=not source, after_term=after_term)
        if item is None:
            return None
        if item.end < 0:
            return Reading(place, source) if source else NONE
        place, source = item.end, source + item.text


def _item(scan: Scan, place: int, *, first: bool, after_term: bool) -> Reading | None:
    text = scan.text
    if place == len(text):
        return NONE if scan.final else None
    if text[place] in "^_":
        script = _script(scan, place)
        return _with_unit(scan, script) if script and script.end > 0 else script
    name = _NAME.match(text, place)
    end = name.end() if name else place
    if end == len(text) and not scan.final:
        return None
    if name and not name[1]:
        thin = text[end : end + 1] in (",", ";") and (not first or after_term)
        return Reading(end + 1, "\\,") if thin else NONE
    if not name or name[1] not in COMMANDS:
        return NONE
    if name[1] == "begin":
        return _environment(scan, place, end)
    if name[1] in _FENCES:
        return _fence(scan, place, end)
    command = _arguments(scan, place, end, name[1])
    return _with_unit(scan, command) if name[1] == "degree" and command else command


def _fence(scan: Scan, place: int, end: int) -> Reading | None:
    r"""Read ``\left(`` and its like."""
    text = scan.text
    width = 2 if text[end : end + 1] == "\\" else 1
    if end + width > len(text) and not scan.final:
        return None
    if text[end : end + width] not in ("(", ")", "[", "]", "|", ".", "\\{", "\\}", "<", ">", "/"):
        return NONE
    return Reading(end + width, text[place : end + width])


def _arguments(scan: Scan, place: int, end: int, name: str) -> Reading | None:
    text = scan.text
    if name == "sqrt" and text[end : end + 1] == "[":
        closing = scan.find("]", end + 1, 8)
        if closing is None or closing < 0:
            return None if closing is None else NONE
        end = closing + 1
    for _ in range(ARGUMENTS.get(name, 0)):
        if end == len(text):
            return NONE if scan.final else None
        if text[end] == "{":
            braces = _braces(scan, end)
            if braces is None or braces < 0:
                return None if braces is None else NONE
            end = braces
        elif text[end].isdigit() and (name in FRACTIONS or name == "sqrt"):
            end += 1
        else:
            return NONE
    return Reading(end, text[place:end])


def _braces(scan: Scan, start: int) -> int | None:
    """Return the position after ``{…}``; -1: it stays open; None: not known yet."""
    depth = 0
    stop = min(len(scan.text), start + _ARGUMENT)
    for place in range(start, stop):
        character = scan.text[place]
        if character == "\n":
            return -1
        depth += (character == "{") - (character == "}")
        if not depth:
            return place + 1
    return None if stop == len(scan.text) < start + _ARGUMENT and not scan.final else -1


def _script(scan: Scan, place: int) -> Reading | None:
    text, start = scan.text, place + 1
    if start == len(text):
        return NONE if scan.final else None
    if text[start] == "{":
        end = _braces(scan, start)
        return None if end is None else Reading(end, text[place:end])
    if text[start] == "\\":
        name = _NAME.match(text, start)
        end = name.end() if name else start
        if end == len(text) and not scan.final:
            return None
        return Reading(end, text[place:end]) if name and name[1] in COMMANDS else NONE
    if text[start:] == "-" and not scan.final:
        return None
    power = _POWER.match(text, start, start + 8)
    if not power:
        letter = text[start].isascii() and text[start].isalpha()
        return None if letter and start + 1 == len(text) and not scan.final else NONE
    if power.end() == len(text) and not scan.final:
        return None
    return Reading(power.end(), f"{text[place]}{{{power[0]}}}")


def _with_unit(scan: Scan, reading: Reading) -> Reading | None:
    """Add the C or F behind a degree sign."""
    if not _DEGREE.search(reading.text):
        return reading
    if len(scan.text) < reading.end + 4 and not scan.final and "\n" not in scan.text[reading.end :]:
        return None
    unit = _UNIT.match(scan.text, reading.end)
    return Reading(unit.end(), f"{reading.text} {unit[0][-1]}") if unit else reading


def _environment(scan: Scan, place: int, end: int) -> Reading | None:
    text = scan.text
    braces = _braces(scan, end)
    if braces is None or braces < 0 or text[end:braces].strip("{}") not in ENVIRONMENTS:
        return None if braces is None else NONE
    closing = f"\\end{text[end:braces]}"
    found = text.find(closing, braces, braces + _LONG)
    if found < 0:
        return None if len(text) < braces + _LONG and not scan.final else NONE
    return Reading(found + len(closing), text[place : found + len(closing)])
