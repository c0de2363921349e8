"""The words for a file that is not YAML: what is wrong, where, and what to write instead.

PyYAML's own words name tokens of its parser. Values are never quoted: they may be secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

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


def find_typo(lines: Sequence[str], first: int, last: int) -> YamlTypo | None:
    """Return the first typo in the lines ``first`` to ``last``; None: nothing looks like one.

    For lines that are known to be wrong: what it finds may be right within a text.
    """
    for number in range(max(first, 1), min(last, len(lines)) + 1):
        line = lines[number - 1]
        if message := next(_typos(line), ""):
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


def _typos(line: str) -> Iterator[str]:
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


_SECTION = re.compile(r"\s*\[[\w.-]+\]\s*$")
_PAIR = re.compile(r"\S:\s")


def explain(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> YamlTypo:
    """Return the line of a mistake and the message, without the file's name.

    ``lines``: of the file. The line is 0 if the error has no place.
    """
    mark = error.problem_mark or error.context_mark
    problem = error.problem or error.context or "unreadable"
    if mark is None:
        return YamlTypo(0, f"not valid YAML: {problem}")
    line = mark.line + 1
    if r"'\t'" in problem:
        return YamlTypo(line, tab(mark.column + 1))
    began = error.context_mark.line + 1 if error.context_mark is not None else line
    return (
        _typo(error, lines, began, line)
        or _by_context(error, lines, began, line)
        or _by_problem(problem, lines, line, mark.column)
        or YamlTypo(line, f"not valid YAML: {problem}")
    )


def _typo(
    error: yaml.MarkedYAMLError, lines: Sequence[str], began: int, line: int
) -> YamlTypo | None:
    """Return the typo where the parser stopped, or one line above: it often goes on until there."""
    if "simple key" in (error.context or ""):
        return find_typo(lines, began, began)
    above = _above(lines, line) or line
    return find_typo(lines, line, line) or find_typo(lines, above, above)


def _above(lines: Sequence[str], line: int) -> int:
    """Return the last line above ``line`` that is neither empty nor a comment; 0: none."""
    for number in range(min(line - 1, len(lines)), 0, -1):
        text = lines[number - 1].strip()
        if text and not text.startswith("#"):
            return number
    return 0


def _by_context(
    error: yaml.MarkedYAMLError, lines: Sequence[str], began: int, line: int
) -> YamlTypo | None:
    """Explain what was begun and not ended."""
    context, problem = error.context or "", error.problem or ""
    column = error.context_mark.column if error.context_mark is not None else 0
    if "simple key" in context:
        return YamlTypo(began, "this line has no colon: expected `key: value`")
    if "quoted scalar" in context:
        if "escape" in problem:
            return YamlTypo(
                line,
                r'within "…" a backslash has a meaning of its own: write the value in '
                r"'…', or / or \\ for each \ ",
            )
        return YamlTypo(began, f"the quote in column {column + 1} is not closed")
    if "alias" in context or "anchor" in context:
        sign = "*" if "alias" in context else "&"
        return YamlTypo(line, f'a value that begins with {sign} needs quotes: "{sign}…"')
    for name, opening, closing in (("mapping", "{", "}"), ("sequence", "[", "]")):
        if f"flow {name}" not in context:
            continue
        if any("${" in text for text in lines[line - 1 : line]):
            return YamlTypo(line, 'within {…} or […] a variable needs quotes: write "${VAR}"')
        return YamlTypo(
            began,
            f"the {opening} of this line is not closed: a comma or {closing} is missing"
            + (f" before line {line}" if line > began else ""),
        )
    return None


def _by_problem(problem: str, lines: Sequence[str], line: int, column: int) -> YamlTypo | None:
    text = lines[line - 1] if line <= len(lines) else ""
    if problem.startswith("mapping values"):
        return _unexpected_colon(lines, line)
    if "cannot start any token" in problem:
        return YamlTypo(
            line, f'a value that begins with {text[column : column + 1]} needs quotes: "…"'
        )
    if "another document" in problem:
        return YamlTypo(
            line, "a second document begins here (---): a file holds one, remove the line"
        )
    if problem.startswith("sequence entries"):
        return YamlTypo(line, "a list begins below its key: write `- …` in a line of its own")
    above = _above(lines, line)
    if above and _SECTION.match(lines[above - 1]):
        name = lines[above - 1].strip(" []")
        return YamlTypo(
            above, f"a section is written `{name}:`, and its keys are indented below it"
        )
    if "<block end>" not in problem:
        return None
    if column > len(text) - len(text.lstrip()):
        return YamlTypo(
            line,
            f"the value of this line ends before column {column + 1}, and more follows: a text "
            "with quotes in it, or that begins with a bracket, needs quotes around all of it: "
            '"…"',
        )
    return YamlTypo(line, f"{_indented(lines, line)}, as no line above: {_ALIGN}")


_ALIGN = "keys of one section begin in the same column"


def _unexpected_colon(lines: Sequence[str], line: int) -> YamlTypo:
    above = _above(lines, line)
    deeper = above and _width(lines[line - 1]) > _width(lines[above - 1])
    if deeper and len(_PAIR.findall(lines[line - 1] + " ")) == 1:
        return YamlTypo(
            line,
            f"{_indented(lines, line)}, more than line {above}, which has a value: {_ALIGN}",
        )
    return YamlTypo(line, 'a text with a colon and a space in it needs quotes: "…"')


def _indented(lines: Sequence[str], line: int) -> str:
    width = _width(lines[line - 1])
    return f"this line is indented by {width} space{'s' if width != 1 else ''}"


def _width(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
