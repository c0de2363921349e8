"""The fields of a form as OpenAI-compatible servers read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def form_fields(items: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - pairs of JSON
    """Return the fields of a form, by names with brackets; one pair for each text of a list."""
    found: list[tuple[str, str]] = []
    for name, value in items:
        if isinstance(value, Mapping):
            found += form_fields((f"{name}[{key}]", below) for key, below in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            found += [(f"{name}[]", _text(each)) for each in value]
        else:
            found.append((name, _text(value)))
    return found


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) or value is None else str(value)
