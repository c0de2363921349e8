"""The words for a mistake in the settings, whether a file or a program has made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from vixio.settings.key_path import KeyPath
from vixio.settings.remedies import remedy
from vixio.settings.schema import bounds, is_secret, suggest

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
