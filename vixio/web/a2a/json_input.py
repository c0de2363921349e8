"""Strict JSON from the network: whatever the A2A library cannot take is refused here."""

from __future__ import annotations

import json
from typing import Any, Final

from vixio.core import strict_json

MAX_DEPTH: Final = 40
"""protobuf takes 48 levels within a data part."""

MAX_VALUES: Final = 200_000
"""Values in one request; 64 tools of 20 KB have some 50,000."""

_MAX_DIGITS: Final = 300
"""A double, which protobuf keeps numbers in, has no more."""

_EXACT_INTEGERS: Final = 2.0**53


class Malformed(Exception):
    """The text is no JSON that can be taken; the message says why, and quotes nothing of it."""


class Invalid(Exception):
    """The message cannot be taken. The text says what is wrong, and quotes no content."""


def parse_json(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a request's body. Takes 10 ms a megabyte. Raises Malformed."""
    try:
        value = strict_json.parse_json(data.decode("utf-8"), parse_int=_parse_int)
    except UnicodeDecodeError:
        raise Malformed("it is not UTF-8") from None
    except RecursionError:
        raise Malformed(f"it is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"it is not JSON at position {error.pos}") from None
    except ValueError as error:
        raise Malformed(str(error)) from None
    _check(value, surrogates=b"\\ud" in data or b"\\uD" in data)
    return value


def whole_numbers(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return ``value`` with 5.0 as 5, which a client that keeps numbers as doubles has sent."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT_INTEGERS:
        return int(value)
    if isinstance(value, dict):
        return {key: whole_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [whole_numbers(each) for each in value]
    return value


def canonical(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return ``value`` with sorted keys and whole numbers: equal offers make equal prompts."""
    if isinstance(value, dict):
        return {key: canonical(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [canonical(each) for each in value]
    return whole_numbers(value)


def _check(value: Any, *, surrogates: bool) -> None:  # noqa: ANN401 - any JSON value
    depth, number, level = 0, 0, [value]
    while level:
        if depth > MAX_DEPTH:
            raise Malformed(f"it is nested deeper than {MAX_DEPTH} levels")
        number += len(level)
        if number > MAX_VALUES:
            raise Malformed(f"it has more than {MAX_VALUES} values")
        deeper: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                deeper.extend(each.values())
                if surrogates:
                    deeper.extend(each)
            elif isinstance(each, list):
                deeper.extend(each)
            elif surrogates and isinstance(each, str):
                _check_text(each)
        level = deeper
        depth += 1


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Malformed("it has half a surrogate pair") from None


def _parse_int(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError("a number is out of range")
    return int(text)
