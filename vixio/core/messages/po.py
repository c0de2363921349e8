"""Reads gettext catalogues in their text form (``.po``), as translators and their tools write them.

https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html. Entries that are marked fuzzy
are left out, as msgfmt does. Contexts (``msgctxt``) are refused: the keys here are unique. The
standard library reads only the compiled form, which is not a text.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from vixio.core.errors import ConfigError

_LINE: Final = re.compile(r'(?:(msgid|msgid_plural|msgstr|msgctxt)(?:\[(\d)\])?\s+)?"(.*)"')
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPES: Final = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_PLURALS: Final = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;\n]+)")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The messages of one file. ``forms``: of each key, one text, or one for each plural form."""

    path: Path
    forms: dict[str, tuple[str, ...]]
    plural: Callable[[int], int]
    """Which form a number takes."""
    plurals: int


@dataclass(slots=True)
class _Entry:
    line: int
    key: str = ""
    fuzzy: bool = False
    texts: dict[int, str] = field(default_factory=dict)
    many: bool = False


def read_po(path: Path) -> Catalogue:
    """Read a catalogue. Raises ConfigError, one line, that says where the mistake is."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    forms: dict[str, tuple[str, ...]] = {}
    plural, plurals = _rule("nplurals=2; plural=(n != 1);", path)
    for entry in _entries(text, path):
        if not entry.key:
            if header := _PLURALS.search(entry.texts.get(0, "")):
                plural, plurals = _rule(header.group(0), path)
            continue
        if entry.fuzzy:
            continue
        if entry.key in forms:
            raise _mistake(path, entry.line, f"{entry.key} is there twice")
        texts = tuple(entry.texts[number] for number in sorted(entry.texts))
        if entry.many and texts != ("",) and len(texts) != plurals:
            raise _mistake(
                path, entry.line, f"{entry.key} needs {plurals} plural forms, as Plural-Forms says"
            )
        if all(texts):  # what is not translated yet is taken from another catalogue
            forms[entry.key] = texts
    return Catalogue(path, forms, plural, plurals)


def _rule(header: str, path: Path) -> tuple[Callable[[int], int], int]:
    found = _PLURALS.search(header)
    assert found is not None  # noqa: S101 - the callers have matched it
    try:
        return gettext.c2py(found.group(2)), int(found.group(1))
    except ValueError as error:
        raise ConfigError(f"{path}: Plural-Forms: {error}") from None


def _entries(text: str, path: Path) -> Iterator[_Entry]:
    entry: _Entry | None = None
    into: int | None = None  # the number of the msgstr that a continued string belongs to
    fuzzy = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("#") or not line:
            fuzzy |= line.startswith("#,") and "fuzzy" in line
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise _mistake(path, number, 'expected msgid "…", msgstr "…" or a comment')
        keyword, index, quoted = found.groups()
        value = _ESCAPE.sub(lambda each: _ESCAPES.get(each.group(1), each.group(0)), quoted)
        if keyword == "msgid":
            if entry is not None:
                yield entry
            entry, into, fuzzy = _Entry(number, value, fuzzy), None, False
        elif keyword == "msgctxt":
            raise _mistake(path, number, "msgctxt is not used here, the msgid is the key")
        elif entry is None:
            raise _mistake(path, number, "expected a msgid first")
        elif keyword == "msgid_plural":
            entry.many = True
        elif keyword == "msgstr":
            into = int(index or 0)
            entry.texts[into] = value
        elif into is None:
            entry.key += value
        else:
            entry.texts[into] += value
    if entry is not None:
        yield entry


def _mistake(path: Path, line: int, what: str) -> ConfigError:
    return ConfigError(f"{path} line {line}: {what}")
