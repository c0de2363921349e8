"""JSON as RFC 8259 defines it: ``json`` also reads NaN, and 1e999 as an infinite number.

Either could be read here, but not be written as JSON again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn


def parse_json(text: str | bytes, *, parse_int: Callable[[str], int] = int) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a JSON text; ``parse_int`` reads its whole numbers.

    Raises ValueError, of which ``json.JSONDecodeError`` is one, and RecursionError.
    """
    return json.loads(text, parse_constant=_refuse, parse_float=_finite, parse_int=parse_int)


def depth_of(value: Any) -> int:  # noqa: ANN401 - any JSON value
    """Return how many levels below ``value`` there are values."""
    depth, level = -1, [value]
    while level:
        depth += 1
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError("a number is out of range")
    return value
