"""The words for a mistake in the settings, whether a file or a program has made it."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from vixio.providers.registry import ProviderKind
from vixio.settings.devices import DeviceSection
from vixio.settings.key_path import KeyPath
from vixio.settings.schema import bounds, is_secret, suggest
from vixio.tools.mcp.settings import McpServerSettings

_NUMBER = re.compile(r"(?P<number>[+-]?\d+(?:[.,]\d+)?)\s*(?P<unit>[^\W\d_]*|%)", re.UNICODE)

_SECONDS: Mapping[str, float] = MappingProxyType(
    {"ms": 0.001, "s": 1, "sec": 1, "second": 1, "min": 60, "m": 60, "minute": 60, "h": 3600}
    | {"毫秒": 0.001, "秒": 1, "分钟": 60}
)
"""Of units that people write behind a time."""

_NAMED: Mapping[str | int, type[BaseModel]] = MappingProxyType(
    {"mcp_servers": McpServerSettings, "devices": DeviceSection}
)
"""Sections whose keys are names that the user gives, with the models of their values."""


def remedy(kind: str, place: KeyPath, found: object) -> str:
    """Return what to write at ``place`` instead of ``found``; empty if that cannot be told.

    ``kind``: pydantic's type of the error.
    """
    match kind:
        case "int_parsing" | "float_parsing" | "int_from_float" if isinstance(found, str | float):
            return _number(str(place[-1]), found)
        case "bool_parsing" if isinstance(found, str):
            return _switch(found)
        case "list_type" | "tuple_type" if isinstance(found, str | int | float):
            return f"write {_listed(str(place[-1]), found)}"
        case "list_type" | "tuple_type" if isinstance(found, Mapping):
            return "write a dash in front of each entry: `- …`"
        case "dict_type" if isinstance(found, list):
            return "write `NAME:` for each dash, and the keys indented below it"
        case "model_type" if isinstance(found, list):
            return "write the keys without dashes"
        case "model_type":
            return _section(place, found)
    return ""


def _number(key: str, found: str | float) -> str:
    if isinstance(found, float):
        if not key.endswith("_ms"):
            return ""
        return f"it is in milliseconds, write {found * 1000:.0f}"
    match = _NUMBER.fullmatch(unicodedata.normalize("NFKC", found).strip())
    if match is None:
        return ""
    number, unit = match["number"].replace(",", "."), match["unit"].lower()
    if not unit:
        return f"write {number}"
    factor = _SECONDS.get(unit) or _SECONDS.get(unit.rstrip("s"))
    if factor is None or not key.endswith("_ms"):
        return f"write the number alone, {number}"
    return f"write the number of milliseconds alone, {float(number) * factor * 1000:.0f}"


def _switch(found: str) -> str:
    on = {"enable", "enabled", "ja", "oui", "si", "on", "active", "开", "是"}
    off = {"disable", "disabled", "nein", "non", "off", "none", "never", "关", "否"}
    word = found.lower()
    return "write true" if word in on else "write false" if word in off else ""


def _listed(key: str, found: str | float) -> str:
    entries = [str(found)]
    if key == "args" and isinstance(found, str):
        try:
            entries = shlex.split(found)
        except ValueError:  # an open quote
            entries = [found]
    return "[" + ", ".join(f'"{entry}"' for entry in entries) + "]"


def _section(place: KeyPath, found: object) -> str:
    if len(place) == 2 and (model := _NAMED.get(place[0])) is not None:
        if place[1] in model.model_fields:
            return f"{place[1]!r} stands below a name: write `{place[0]}: {{NAME: {{…}}}}`"
        return ""
    if place[-1] in set(ProviderKind) and isinstance(found, str):
        return f"write `{place[-1]}: {{name: {found}}}`"
    return ""


_SHOWN_CHARACTERS = 40
"""Of a wrong value, in an error."""


_EXPECTED: Mapping[str, str] = MappingProxyType(
    {
        "string_type": "text",
        "model_type": "a mapping (`key: value` lines)",
        "dict_type": "a mapping (`key: value` lines)",
        "model_attributes_type": "a mapping (`key: value` lines)",
        "list_type": "a list",
        "tuple_type": "a list",
        "int_from_float": "a whole number",
        "int_parsing": "a whole number",
        "int_type": "a whole number",
        "float_parsing": "a number",
        "float_type": "a number",
        "bool_parsing": "true or false",
        "bool_type": "true or false",
        "path_type": "a path",
    }
)
"""By pydantic's type of the error; its own words are for programmers."""


def details(error: ValidationError, above: KeyPath = ()) -> Iterator[ErrorDetails]:
    """Return all mistakes with their whole paths; options of providers are validated separately."""
    for detail in error.errors(include_url=False):
        place: KeyPath = (*above, *detail["loc"])
        inner = detail.get("ctx", {}).get("error")
        if isinstance(inner, ValidationError):
            yield from details(inner, place)
        else:
            yield {**detail, "loc": place}


def message(detail: ErrorDetails, data: Mapping[str, Any]) -> str:
    """Return in one line what is wrong at a place of ``data``, without the place.

    A secret is never shown.
    """
    place, found = detail["loc"], detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            return f"there is no such key{suggest(place, data)}"
        case "missing":
            return "is required"
        case "value_error":
            return detail["msg"].removeprefix("Value error, ")
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            expected = f"a number {bounds(place, data)}"
        case "string_pattern_mismatch":  # of a plug-in: Vixio's own say it in words
            expected = f"text of the form {detail['ctx']['pattern']}"
        case "string_too_short":
            least = detail["ctx"]["min_length"]
            expected = f"text of at least {least} character{'s' if least > 1 else ''}"
        case other:
            words = detail["msg"].removeprefix("Input should be ").partition(", unable")[0]
            expected = _EXPECTED.get(other, words)
    if is_secret(place, data):
        return f"expected {expected}, found a secret"
    advice = remedy(detail["type"], place, found)
    return f"expected {expected}, found {show(found)}" + (f": {advice}" if advice else "")


def show(value: object) -> str:
    """Return a value as an error shows it: on one line, and not at length."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            shown = value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…"
            return repr(shown)
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return str(value)[:_SHOWN_CHARACTERS]
