"""Arguments of a call that are one step from right, where that step loses nothing.

A model that writes ``40,}`` or ``"40"`` means what it says, and asking it again costs a model call
that small models use to repeat themselves. Only steps that keep every value are made here: what is
cut off, or can be read in two ways, is refused. (Libraries that repair JSON complete what is
missing as well, so that half a text becomes a whole call.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from vixio.core.strict_json import parse_json
from vixio.core.tools.types import JsonObject

MAX_CHARS: Final = 20_000
"""Longer texts are read as they are, or not at all."""

MAX_OBJECTS: Final = 16
"""Calls that one text may hold."""

_FENCE: Final = re.compile(r"```[\w-]*")

_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*(?:"|\Z)'  # a string, which stays as it is
    r"|'(?:[^'\\]|\\.)*(?:'|\Z)"  # one as Python writes it
    r"|,(?=\s*[}\]])"  # behind the last entry
    r"|(?<=[{,])\s*[A-Za-z_]\w*(?=\s*:)"  # a name without quotes
    r"|\b(?:True|False|None)\b",
    re.DOTALL,
)

_BEHIND: Final = re.compile(r"(?:[\s,;}\])`]|<[^<>]*>|\[/?[A-Z_]+\])*\Z")
"""What may stand behind the last object: closing signs too many, and a model's control tokens."""

_WORDS: Final = {"True": "true", "False": "false", "None": "null"}

_INNER: Final = frozenset({"arguments", "parameters", "args", "input"})
_OF_A_CALL: Final = _INNER | {"name", "tool", "function", "type", "id"}

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?")

_LITERALS: Final[Mapping[str, Any]] = MappingProxyType(
    {"true": True, "false": False, "null": None, "none": None}
)

_DECODER: Final = json.JSONDecoder(strict=False)
"""Takes line breaks within strings too."""


def is_nothing(text: str) -> bool:
    """Whether ``text`` says that a call has no arguments."""
    bare = text.strip(" \t\r\n`\"'").removeprefix("json").strip()
    return bare in ("", "null", "None")


def read_objects(text: str) -> Sequence[JsonObject]:
    """Return the objects in ``text``, usually one; none if it cannot be read without loss.

    An object that comes twice in a row is one: servers repeat the whole at the end of a stream
    (vllm-project/vllm#51697). Without arguments nothing tells two calls from one, so ``{}{}`` is
    two.
    """
    if len(text) > MAX_CHARS:
        return ()
    try:
        objects = list(_objects(text, 0))
    except (ValueError, RecursionError):
        return ()
    kept = [
        each for at, each in enumerate(objects) if not at or not each or each != objects[at - 1]
    ]
    return kept if len(objects) <= 2 * MAX_OBJECTS and len(kept) <= MAX_OBJECTS else ()


def _objects(text: str, depth: int) -> Iterator[JsonObject]:
    """Yield the objects of a text. Raises ValueError where something else stands in it."""
    text = text.strip()
    if fence := _FENCE.match(text):
        text = text[fence.end() :].removesuffix("```").strip()
    for value in _values(text):
        if isinstance(value, dict):
            yield value
        elif isinstance(value, str) and depth < 2:  # JSON in a string
            yield from _objects(value, depth + 1)
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            yield from value
        else:
            raise ValueError("no object")


def _values(text: str) -> Sequence[Any]:
    """Return the JSON values that ``text`` consists of. Raises ValueError."""
    for candidate in (text, _TOKEN.sub(_as_json, text)):
        for start in (0, 1) if candidate.startswith("{{") else (0,):
            try:
                return list(islice(_decoded(candidate, start), 2 * MAX_OBJECTS + 1))
            except ValueError:
                continue
    raise ValueError("no JSON")


def _decoded(text: str, at: int) -> Iterator[Any]:
    while not _BEHIND.match(text, at):
        value, at = _DECODER.raw_decode(text, at)
        yield parse_json(json.dumps(value))  # NaN and infinite numbers are no JSON
        while at < len(text) and text[at] in ", \t\r\n;":
            at += 1


def _as_json(token: re.Match[str]) -> str:
    """Return a token as JSON writes it."""
    text = token[0]
    if text == ",":
        return ""
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        inner = re.sub(r"""\\'|"|\\.""", _requoted, text[1:-1], flags=re.DOTALL)
        return f'"{inner}"'
    if (name := text.strip()).isidentifier() and name not in _WORDS:
        return f'"{name}"'
    return _WORDS.get(text, text)


def _requoted(sign: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(sign[0], sign[0])


def unwrapped(arguments: JsonObject, declared: Collection[str]) -> JsonObject:
    """Return the arguments within a whole call that stands in their place.

    ``{"name": "set_volume", "arguments": {…}}``, unless ``declared`` has such properties.
    """
    inner = [key for key in arguments if key in _INNER]
    if len(inner) != 1 or inner[0] in declared or not arguments.keys() <= _OF_A_CALL:
        return arguments
    if not declared and "name" not in arguments:  # the tool takes anything
        return arguments
    value = arguments[inner[0]]
    objects: Sequence[JsonObject] = [value] if isinstance(value, dict) else []
    if isinstance(value, str):
        objects = read_objects(value)
    return objects[0] if len(objects) == 1 else arguments


def alike(value: object) -> Iterator[Any]:
    """Yield what ``value`` may be meant as: a number in quotes, JSON in a string, and so on."""
    if not isinstance(value, str):
        return
    text = value.strip()
    if _NUMBER.fullmatch(text):
        yield int(text) if text.lstrip("-").isdigit() else float(text)
    elif text.lower() in _LITERALS:
        yield _LITERALS[text.lower()]
    elif text[:1] in ("[", "{"):
        try:
            yield from _values(text)[:1]
        except (ValueError, RecursionError):
            return
    if text != value:
        yield text
