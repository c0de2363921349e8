"""Slips of the keyboard in a settings file, which YAML reads as something else or not at all.

Each has the line and what to write instead. A message may quote a key, never a value: that may be a
secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SPACES = {
    "\u00a0": "a no-break space",
    "\u200b": "an invisible character (U+200B)",
    "\u2003": "a wide space",
    "\u3000": "a full-width space",
    "\ufeff": "an invisible character (U+FEFF)",
}
_LEAD = rf"[\s{''.join(_SPACES)}]*(?:-[\s{''.join(_SPACES)}]+)*"
_KEY = r"[A-Za-z_][\w./-]*"
_OPENING = "“”„‘’＂＇"

_ODD_COLON = re.compile(rf"(?:^{_LEAD}|[{{,，]\s*)(?P<key>{_KEY})\s*(?P<colon>[：﹕])")
_TIGHT = re.compile(rf"{_LEAD}(?P<key>{_KEY}):(?!//)\S")
_EQUALS = re.compile(rf"{_LEAD}(?P<key>{_KEY})\s*=")
_TIGHT_DASH = re.compile(r"\s*(?P<dash>-)[^\s\d.-]")
_ODD_QUOTE = re.compile(rf"{_LEAD}(?:{_KEY}:\s+)?(?P<quote>[{_OPENING}])")
_ODD_FLOW = re.compile(r"[\[{［｛].*?(?P<sign>[，、])|(?P<bracket>[［］｛｝])")
_OTHER_COMMENT = re.compile(r"(?:^|[\s,}\]])(?P<sign>//)(?:\s|$)")
_COLON = re.compile(r":(\s|$)")


@dataclass(frozen=True, slots=True)
class YamlTypo:
    """What is wrong in ``line`` (from 1), and what to write."""

    line: int
    message: str


def find_slip(lines: Sequence[str], first: int, last: int) -> YamlTypo | None:
    """Return the first slip in the lines ``first`` to ``last``; None: nothing looks like one.

    For lines that are known to be wrong: what it finds may be right within a text.
    """
    for number in range(max(first, 1), min(last, len(lines)) + 1):
        line = lines[number - 1]
        if message := next(_slips(line), ""):
            return YamlTypo(number, message)
    return None


def tab(column: int) -> str:
    """Return the message about a tab in ``column`` (from 1)."""
    return f"there is a tab in column {column}: YAML takes spaces only, write spaces instead"


def odd_quotes(text: str) -> str:
    """Return the message about a value in quotes that are not YAML's; empty if it is in none."""
    pairs = ("“”", "‘’", "„“", "＂＂", "＇＇")
    for pair in pairs:
        left, right = pair[0], pair[1]
        if len(text) > 1 and text[0] == left and text[-1] == right:
            return (
                f"the quotes {left}…{right} are none of YAML's and would be part of the value: "
                'write "…"'
            )
    return ""


def _slips(line: str) -> Iterator[str]:
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation:
        yield tab(indentation.index("\t") + 1)
    if not line.lstrip().startswith("#"):
        yield from _odd_signs(line)
        yield from _other_syntax(line)


def _odd_signs(line: str) -> Iterator[str]:
    """Yield the signs that another keyboard types for YAML's."""
    lead = re.match(_LEAD, line)
    for column, sign in enumerate(lead.group() if lead else "", 1):
        if sign in _SPACES:
            yield f"there is {_SPACES[sign]} in column {column}: write ordinary spaces instead"
    if found := _ODD_COLON.search(line):
        yield (
            f"the colon behind {found['key']!r} (column {found.start('colon') + 1}) is a "
            f"full-width one ({found['colon']}): write an ordinary one and a space, "
            f"`{found['key']}: …`"
        )
    if found := _ODD_QUOTE.match(line):
        column = found.start("quote") + 1
        yield f'the quote {found["quote"]} in column {column} is none of YAML\'s: write "…"'
    if found := _ODD_FLOW.search(line):
        at = found.start("sign") if found["sign"] else found.start("bracket")
        ordinary = {"，": ",", "、": ",", "［": "[", "］": "]", "｛": "{", "｝": "}"}[line[at]]
        yield f"the {line[at]} in column {at + 1} is a full-width sign: write `{ordinary}`"


def _other_syntax(line: str) -> Iterator[str]:
    """Yield what other formats write, and the spaces that YAML needs."""
    if found := _OTHER_COMMENT.search(line):
        yield f"a comment begins with #, not with // (column {found.start('sign') + 1})"
    if _COLON.search(line):
        return
    if found := _TIGHT.match(line):
        key = found["key"]
        yield f"there is no space behind the colon of {key!r}: write `{key}: …`"
    if found := _EQUALS.match(line):
        key = found["key"]
        yield f"{key!r} is followed by =: write a colon and a space, `{key}: …`"
    if _TIGHT_DASH.match(line):
        yield "there is no space behind the dash: write `- …`"
