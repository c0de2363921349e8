"""A tool's JSON Schema as models' services accept it.

One schema that a service refuses costs every turn of the session. The copy that is sent differs
from the tool's own only where large services refuse it; arguments are checked by the tool's own
(``vixio.core.tools.arguments``). What is mended, and for which service:

- OpenAI: arrays without ``items`` or with a list of them, ``properties`` missing at the top,
  combinators there, references that lead nowhere.
- Most: references to a schema from within itself. All references are written out.
- Gemini, Ollama before 0.6: lists of types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vixio.core.tools.types import JsonObject

MAX_NODES: Final = 1_000
"""Schemas within one, with references written out. What is behind them is offered as any object."""

_MAX_DEPTH: Final = 12

_LISTS: Final = ("anyOf", "oneOf", "allOf")
_MAPPINGS: Final = ("patternProperties", "dependentSchemas")
_PARTS: Final = ("additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_DEFINITIONS: Final = ("$defs", "definitions")
_NOT_AT_THE_TOP: Final = ("not", "enum", "const")


def service_schema(parameters: Mapping[str, Any]) -> JsonObject | None:
    """Return a copy of ``parameters`` for a service; None if no object fits them."""
    copy = _Copy(parameters).of(parameters, (), 0)
    if copy.get("type", "object") != "object":
        return None
    copy = _flat(copy)
    for key in _NOT_AT_THE_TOP:
        copy.pop(key, None)
    return {**copy, "type": "object", "properties": copy.get("properties", {})}


class _Copy:
    """Makes the copy of one schema. ``root``: where its references lead."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0
        self._followed = False

    def of(self, schema: object, path: tuple[str, ...], depth: int) -> JsonObject:
        """Return the copy of a part. ``path``: the references that led to it."""
        self._nodes += 1
        if not isinstance(schema, Mapping):
            return {}
        if self._nodes > MAX_NODES or depth > _MAX_DEPTH:
            return _any_object(schema)
        reference = schema.get("$ref", schema.get("$dynamicRef"))
        if isinstance(reference, str):
            self._followed = True
            beside = {key: value for key, value in schema.items() if not key.startswith("$")}
            if reference in path:  # it contains itself
                return _any_object(beside)
            target = self._target(reference)
            merged = {**target, **beside} if isinstance(target, Mapping) else beside
            return self.of(merged, (*path, reference), depth)
        copy = self._mended(schema, path, depth)
        if self._followed:
            for key in _DEFINITIONS:
                copy.pop(key, None)
        return copy

    def _target(self, reference: str) -> object:
        """Return what a reference within the schema leads to (RFC 6901); None if nowhere."""
        if not reference.startswith("#"):
            return None
        part: Any = self._root
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(part, list) and name.isdecimal() and int(name) < len(part):
                part = part[int(name)]
            elif isinstance(part, Mapping) and name in part:
                part = part[name]
            else:
                return None
        return part

    def _mended(self, schema: Mapping[str, Any], path: tuple[str, ...], depth: int) -> JsonObject:
        """Return the copy of a schema without a reference."""

        def inner(part: object) -> JsonObject:
            return self.of(part, path, depth + 1)

        copy = dict(schema)
        for key in _LISTS:
            if isinstance(parts := schema.get(key), list):
                copy[key] = [inner(each) for each in parts]
        for key in _MAPPINGS:
            if isinstance(named := schema.get(key), Mapping):
                copy[key] = {name: inner(each) for name, each in named.items()}
        for key in _PARTS:
            if isinstance(schema.get(key), Mapping):
                copy[key] = inner(schema[key])
        if isinstance(properties := schema.get("properties"), Mapping):
            copy["properties"] = {
                name: inner(each) for name, each in properties.items() if each is not False
            }
        if isinstance(schema.get("required"), list):
            # A model leaves out what is not told of null; it is filled in with the arguments.
            copy["required"] = [
                name
                for name in schema["required"]
                if not _lists_null((properties or {}).get(name, {}))
            ]
            if not copy["required"]:
                del copy["required"]
        _choose_type(copy)
        if copy.get("type") == "array" or "items" in schema or "prefixItems" in schema:
            copy["items"] = self._items(schema, path, depth)
            copy.pop("prefixItems", None)
        return copy

    def _items(self, schema: Mapping[str, Any], path: tuple[str, ...], depth: int) -> JsonObject:
        """Return the schema of an array's entries."""
        places = schema.get("prefixItems", schema.get("items"))
        if isinstance(places, list):  # one for each place
            parts = [self.of(each, path, depth + 1) for each in places]
            different = [each for at, each in enumerate(parts) if each not in parts[:at]]
            if different:
                return different[0] if len(different) == 1 else {"anyOf": different}
        elif isinstance(places, Mapping) and places:
            return self.of(places, path, depth + 1)
        given = schema.get("default")
        kinds = {type_of(each) for each in given} if isinstance(given, list) else set()
        return {"type": kinds.pop() if len(kinds) == 1 else "string"}


def both(one: Mapping[str, Any], other: Mapping[str, Any]) -> JsonObject:
    """Return one schema for what fits both; of what contradicts, that of ``one``."""
    merged = {**other, **one}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**other["properties"], **one["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    return merged


def type_of(value: object) -> str:
    """Return the JSON type of a value that is not null."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case list():
            return "array"
        case dict():
            return "object"
    return "string"


def _flat(copy: JsonObject) -> JsonObject:
    """Return a schema without ``allOf``, ``anyOf`` and ``oneOf``: with the properties of all parts.

    Required are those that every choice requires.
    """
    for part in copy.pop("allOf", ()):
        copy = both(copy, _flat(part))
    for key in ("anyOf", "oneOf"):
        choices = [_flat(each) for each in copy.pop(key, ())]
        objects = [each for each in choices if each.get("type", "object") == "object"]
        properties: JsonObject = {}
        for each in objects:
            properties = {**each.get("properties", {}), **properties}
        shared = [set(each.get("required", ())) for each in objects]
        required = sorted(set.intersection(*shared)) if shared else []
        given = {"properties": properties, "required": required}
        copy = both(copy, {key: value for key, value in given.items() if value})
    return copy


def _choose_type(copy: JsonObject) -> None:
    """Put one type into the place of a list of them."""
    kinds = copy.get("type")
    if not isinstance(kinds, list):
        return
    named = [each for each in dict.fromkeys(kinds) if each != "null"]
    del copy["type"]
    if isinstance(copy.get("enum"), list):
        copy["enum"] = [each for each in copy["enum"] if each is not None]
    if len(named) == 1:
        copy["type"] = named[0]
    elif named and "anyOf" not in copy:
        copy["anyOf"] = [{"type": each} for each in named]


def _lists_null(schema: object) -> bool:
    kinds = schema.get("type") if isinstance(schema, Mapping) else None
    return isinstance(kinds, list) and "null" in kinds


def _any_object(schema: Mapping[str, Any]) -> JsonObject:
    described = {"description": schema["description"]} if "description" in schema else {}
    return {"type": "object", **described}
