"""A tool's JSON Schema in the words that every service knows.

For a service that has refused those of ``service_schema.py``: what it may not know is told in the
description instead, where it says something to a model. Refused are

- by Gemini: ``const``, ``additionalProperties``, values of ``enum`` that are empty or no text, most
  of ``format``, the type null, all further keywords (``Unknown name … Cannot find field``);
- by llama.cpp: parts without a type, patterns that are not anchored or have escapes, bounds that
  its grammar has no room for, ``not``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from vixio.core.tools.types import JsonObject
from vixio.providers.openai_agent.service_schema import both, type_of

_MAX_BOUND: Final = 1_000
"""Of lengths: llama.cpp's grammar repeats a rule so often."""

_MAX_NUMBER: Final = 2**53 - 1
"""A bound of that size says only that the number is a whole one."""

_TYPES: Final = ("object", "array", "string", "number", "integer", "boolean")
_LENGTHS: Final = ("minLength", "maxLength", "minItems", "maxItems")
_FORMATS: Final = frozenset({"date-time"})
_TOLD: Final = (
    "format",
    "pattern",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "default",
    "additionalProperties",
    "propertyNames",
)
"""Keywords that are told in the description, as they stand in the schema."""

_OF_A_VALUE: Final = frozenset({"type", "enum", "description"})


def plain_schema(schema: object) -> JsonObject:
    """Return a copy of ``schema``, which has no references, in the words of all services."""
    if not isinstance(schema, Mapping):
        return {}
    schema = _flat(schema)
    copy: JsonObject = {}
    types = _types(schema)
    if len(types) == 1:
        copy["type"] = types[0]
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    told = [_values(copy, values)] if isinstance(values, list) else []
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and copy.get("type") == "object":
        copy["properties"] = {name: _typed(plain_schema(part)) for name, part in properties.items()}
        required = [name for name in _list(schema.get("required")) if name in properties]
        required = [name for name in required if not _nullable(properties[name])]
        if required:
            copy["required"] = list(dict.fromkeys(required))
    if copy.get("type") == "array":
        copy["items"] = _typed(plain_schema(schema.get("items")))
    choices = [
        plain_schema(each)
        for key in ("anyOf", "oneOf")
        for each in _list(schema.get(key))
        if not _is_null(each)
    ]
    if len(choices) == 1:
        copy = both(copy, choices[0])
    elif choices and all(each.keys() <= _OF_A_VALUE and "enum" in each for each in choices):
        values = [value for each in choices for value in each["enum"]]
        copy = both(copy, {"type": "string", "enum": list(dict.fromkeys(values))})
    elif choices:
        copy["anyOf"] = [_typed(each) for each in choices]
    _bounds(copy, schema)
    told += [
        f"{key}: {json.dumps(schema[key], ensure_ascii=False)}"
        for key in _TOLD
        if key not in copy and _tells(key, schema.get(key))
    ]
    return _described(copy, schema, told)


def _flat(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with all that its ``allOf`` says, which holds as well, in itself."""
    for part in _list(schema.get("allOf")):
        if isinstance(part, Mapping):
            schema = both(schema, _flat(part))
    return schema


def _types(schema: Mapping[str, Any]) -> list[str]:
    """Return the type of a schema, by what else it says if it has none."""
    if schema.get("type") in _TYPES:
        return [str(schema["type"])]
    if isinstance(schema.get("properties"), Mapping):
        return ["object"]
    if "items" in schema:
        return ["array"]
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    kinds = {type_of(each) for each in _list(values) if each is not None}
    return [kinds.pop()] if len(kinds) == 1 else []


def _values(copy: JsonObject, values: list[Any]) -> str:
    """Offer the values of ``enum``; return them in words if they are not all text."""
    known = [each for each in dict.fromkeys(map(json.dumps, values)) if each != "null"]
    texts = [json.loads(each) for each in known]
    if copy.get("type") == "string" and all(isinstance(each, str) for each in texts):
        if chosen := [each for each in texts if each]:
            copy["enum"] = chosen
        return ""
    return f"one of {', '.join(known)}" if known else ""


def _bounds(copy: JsonObject, schema: Mapping[str, Any]) -> None:
    """Add the bounds that fit the type and say something."""
    kind = copy.get("type")
    if kind in ("integer", "number"):
        for key in ("minimum", "maximum"):
            bound: Any = schema.get(key)
            if _is_number(bound) and abs(bound) < _MAX_NUMBER:
                copy[key] = bound
    for key in _LENGTHS:
        of_kind = kind == ("string" if "Length" in key else "array")
        if of_kind and isinstance(size := schema.get(key), int) and 0 < size <= _MAX_BOUND:
            copy[key] = size
    if kind == "string" and schema.get("format") in _FORMATS:
        copy["format"] = schema["format"]


def _typed(copy: JsonObject) -> JsonObject:
    """Give a type to a schema that allows anything: text can carry it."""
    return copy if "type" in copy or "anyOf" in copy else {"type": "string", **copy}


def _described(copy: JsonObject, schema: Mapping[str, Any], told: Iterable[str] = ()) -> JsonObject:
    """Add the description, with what the copy cannot say."""
    words = schema.get("description") or copy.get("description")
    parts = [words.strip()] if isinstance(words, str) and words.strip() else []
    if notes := "; ".join(each for each in told if each):
        parts.append(f"({notes})")
    return {**copy, "description": " ".join(parts)} if parts else copy


def _tells(key: str, value: object) -> bool:
    return value is not None and (key == "default" or not isinstance(value, bool))


def _nullable(schema: object) -> bool:
    """Whether null is one of the values; such a property need not be given."""
    if not isinstance(schema, Mapping):
        return False
    return schema.get("nullable") is True or any(
        _is_null(each) for key in ("anyOf", "oneOf") for each in _list(schema.get(key))
    )


def _is_null(schema: object) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") in ("null", ["null"])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
