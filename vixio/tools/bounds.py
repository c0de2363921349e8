"""Limits for tools that others describe: servers and services that come and go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from vixio.core.well_formed import well_formed

MAX_TOOLS: Final = 256
"""Of one source."""
MAX_NAME_CHARS: Final = 256
MAX_DESCRIPTION_CHARS: Final = 2_000
MAX_SCHEMA_CHARS: Final = 20_000
"""As JSON. Every request to the model contains all schemas."""


def bounded_description(text: str, max_chars: int = MAX_DESCRIPTION_CHARS) -> str:
    """Return a description that every model API takes."""
    words = text.strip()
    if len(words) > max_chars:
        words = f"{words[: max_chars - 1]}…"
    # Model APIs reject every request that contains half a surrogate pair.
    return well_formed(words)


def bounded_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema, without descriptions if it is too long; None if it still is."""
    try:
        for candidate in (schema, _without_words(schema)):
            text = json.dumps(candidate, ensure_ascii=False)
            if len(text) <= MAX_SCHEMA_CHARS:
                whole: dict[str, Any] = json.loads(well_formed(text))
                return whole
    except (TypeError, ValueError, RecursionError):
        pass  # not JSON, or nested too deeply: treated as too long
    return None


def _without_words(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``schema`` without explanations. Properties with such names are mappings and stay."""
    return {
        key: _without_words(value) if isinstance(value, Mapping) else value
        for key, value in schema.items()
        if isinstance(value, Mapping) or key not in {"description", "title", "examples"}
    }
