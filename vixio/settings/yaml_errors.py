"""The words for a file that is not YAML: what is wrong, where, and what to write instead.

PyYAML's own words name tokens of its parser. Values are never quoted: they may be secrets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import yaml

from vixio.settings.yaml_typos import YamlTypo, find_slip, tab

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
        _slip(error, lines, began, line)
        or _by_context(error, lines, began, line)
        or _by_problem(problem, lines, line, mark.column)
        or YamlTypo(line, f"not valid YAML: {problem}")
    )


def _slip(
    error: yaml.MarkedYAMLError, lines: Sequence[str], began: int, line: int
) -> YamlTypo | None:
    """Return the slip where the parser stopped, or one line above: it often goes on until there."""
    if "simple key" in (error.context or ""):
        return find_slip(lines, began, began)
    above = _above(lines, line) or line
    return find_slip(lines, line, line) or find_slip(lines, above, above)


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
