"""JSON with the place of each value, as people paste it: comments and trailing commas are read.

Written for the mistakes of hand-edited files: each message names what is wrong at its line and
column, and what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

MAX_CHARS: Final = 64 * 1024

MAX_DEPTH: Final = 16

_SPACE: Final = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_WORD: Final = re.compile(r"[A-Za-z_][\w.-]*")
_ESCAPE: Final = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9A-Fa-f]{4})|(.?))', re.DOTALL)
_PLAIN: Final = re.compile(r'[^"\\\n]*')
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: Final = {"true": True, "false": False, "null": None}
_TYPOGRAPHIC: Final = "“”„‟«»″＂‘’‚‛"


@dataclass(frozen=True, slots=True)
class Mistake:
    """``message``: what is wrong and what to do. ``line``, ``column``: from 1; 0: of no place."""

    message: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}" if self.line else self.message


class PasteError(Exception):
    """What was pasted cannot be used."""

    def __init__(self, *mistakes: Mistake) -> None:
        super().__init__("; ".join(map(str, mistakes)))
        self.mistakes = mistakes


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its offset. ``value``: a dict or list of nodes, or a scalar. ``keys``: the
    offsets of a dict's keys."""

    value: Any
    at: int
    keys: dict[str, int] | None = None

    def plain(self) -> Any:  # noqa: ANN401 - JSON
        """Return the value without places."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def texts(self) -> Iterator[Node]:
        """Return all texts in it."""
        inner = self.value.values() if isinstance(self.value, dict) else self.value
        if isinstance(self.value, str):
            yield self
        elif isinstance(self.value, dict | list):
            for node in inner:
                yield from node.texts()


class JsonText:
    """A pasted text. Raises PasteError."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self._at = 0
        self._open: list[int] = []

    def mistake(self, at: int, message: str) -> Mistake:
        """Return a mistake at an offset."""
        line = self.text.count("\n", 0, at) + 1
        return Mistake(message, line, at - (self.text.rfind("\n", 0, at) + 1) + 1)

    def read(self) -> Node:
        """Return the whole text as one value; members without braces around them are one, too."""
        self._skip()
        if not self._next():
            self._fail("there is nothing in it: paste the JSON of the server's documentation")
        if self._next() not in '{["“”':
            self._fail("expected JSON in braces, or the address of a server")
        found = self._members(self._at, "") if self._next() == '"' else self._value()
        self._skip()
        if self._next() == ",":
            self._at += 1
            self._skip()
        if self._next():
            self._fail("nothing may follow here: remove it, or a bracket before it is too much")
        return found

    def _value(self) -> Node:
        self._skip()
        at, sign = self._at, self._next()
        if len(self._open) >= MAX_DEPTH:
            self._fail(f"it is nested more than {MAX_DEPTH} levels deep")
        if sign == "{":
            return self._members(at, "}")
        if sign == "[":
            return self._items(at)
        if sign == '"':
            return Node(self._string(), at)
        if number := _NUMBER.match(self.text, at):
            self._at = number.end()
            digits = number.group()
            return Node(int(digits) if digits.lstrip("-").isdigit() else float(digits), at)
        if (word := _WORD.match(self.text, at)) and word.group() in _WORDS:
            self._at = word.end()
            return Node(_WORDS[word.group()], at)
        raise self._refused(word.group() if word else "")

    def _members(self, at: int, close: str) -> Node:
        found: dict[str, Node] = {}
        keys: dict[str, int] = {}
        self._enter(at if close else None)
        while not self._ends(close):
            place = self._at
            if self._next() != '"':
                word = _WORD.match(self.text, place)
                raise self._refused(word.group() if word else "", key=True)
            key = self._string()
            if key in keys:
                self._fail(f'"{key}" stands here twice: remove one', place)
            self._skip()
            if self._next() != ":":
                self._fail(f'a colon is missing behind "{key}"')
            self._at += 1
            found[key], keys[key] = self._value(), place
            self._comma(close)
        return Node(found, at, keys)

    def _items(self, at: int) -> Node:
        found: list[Node] = []
        self._enter(at)
        while not self._ends("]"):
            found.append(self._value())
            self._comma("]")
        return Node(found, at)

    def _enter(self, at: int | None) -> None:
        if at is not None:
            self._open.append(at)
            self._at += 1

    def _ends(self, close: str) -> bool:
        """Whether the object or list ends here; its bracket is read then."""
        self._skip()
        sign = self._next()
        if not close:
            return not sign
        if sign == close:
            self._at += 1
            self._open.pop()
            return True
        if not sign:
            opened = self.mistake(self._open[-1], "")
            bracket = self.text[self._open[-1]]
            self._fail(f"the {bracket} of line {opened.line} is not closed: add {close}")
        if sign in "]}":
            self._fail(f"{close} is expected here, not {sign}")
        return False

    def _comma(self, close: str) -> None:
        end = self._at
        self._skip()
        sign = self._next()
        if sign == ",":
            self._at += 1
            self._skip()
            if self._next() == ",":
                self._fail("one comma is too much here: remove it")
        elif sign and sign not in "]}" and (close or sign == '"'):
            if sign in _TYPOGRAPHIC or sign == ":":
                raise self._refused("")
            self._fail("a comma is missing here, before what follows", end)
        elif not close and sign:
            self._fail("nothing may follow here: remove it, or a bracket before it is too much")

    def _string(self) -> str:
        at = self._at
        self._at += 1
        parts: list[str] = []
        while True:
            plain = _PLAIN.match(self.text, self._at)
            assert plain is not None  # noqa: S101 - it matches the empty text
            parts.append(plain.group())
            self._at = plain.end()
            sign = self._next()
            if sign == '"':
                self._at += 1
                return "".join(parts)
            if sign != "\\":
                self._fail('this text is not closed in its line: put " at its end', at)
            escape = _ESCAPE.match(self.text, self._at)
            assert escape is not None  # noqa: S101 - it matches any sign
            if escape[3] is not None:
                self._fail('a \\ in a text is written twice: "C:\\\\tools"')
            code = escape[2]
            parts.append(chr(int(code, 16)) if code else _ESCAPED.get(escape[1], escape[1]))
            self._at = escape.end()

    def _refused(self, word: str, *, key: bool = False) -> PasteError:
        sign = self._next()
        message = f"a value is expected here, not {sign}" if sign else "a value is missing here"
        if sign and sign in _TYPOGRAPHIC:
            message = f'{sign} is a typographic quotation mark: write " instead'
        elif sign == "'":
            message = "texts stand in double quotes, not in single ones"
        elif word.lower() in ("true", "false", "none", "null", "undefined") and not key:
            meant = "null" if word.lower() in ("none", "undefined") else word.lower()
            message = f"write {meant} instead of {word}"
        elif word:
            message = f'put {word[:40]} in double quotes: "{word[:40]}"'
        elif key:
            message = f'a name in double quotes is expected here, not {sign}: "name": …'
        return PasteError(self.mistake(self._at, message))

    def _skip(self) -> None:
        space = _SPACE.match(self.text, self._at)
        self._at = space.end() if space else self._at

    def _next(self) -> str:
        return self.text[self._at : self._at + 1]

    def _fail(self, message: str, at: int | None = None) -> NoReturn:
        raise PasteError(self.mistake(self._at if at is None else at, message))
