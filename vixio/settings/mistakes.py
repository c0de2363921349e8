"""The words for a mistake in the settings, whether a file or a program has made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from vixio.settings.key_path import KeyPath
from vixio.settings.schema import bounds, is_secret, suggest

_SHOWN_CHARACTERS = 40
"""Of a wrong value, in an error."""


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
        case "string_type":
            expected = "text"
        case "model_type" | "dict_type" | "model_attributes_type":
            expected = "a mapping (`key: value` lines)"
        case "list_type" | "tuple_type":
            expected = "a list"
        case "int_from_float":
            expected = "a whole number"
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            expected = f"a number {bounds(place, data)}"
        case "string_pattern_mismatch":
            expected = f"text of the form {detail['ctx']['pattern']}"
        case "string_too_short":
            expected = f"text of at least {detail['ctx']['min_length']} characters"
        case "path_type":
            expected = "a path"
        case _:
            expected = detail["msg"].removeprefix("Input should be ").partition(", unable")[0]
    return f"expected {expected}, found {'a secret' if is_secret(place, data) else show(found)}"


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
