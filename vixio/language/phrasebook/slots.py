"""The values of a template's slot, taken from the tool's JSON Schema.

The schema decides: a template's list of words is reduced to the schema's ``enum``, a number slot
runs from ``minimum`` to ``maximum``, and a slot that the schema does not have makes its intent
unavailable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from vixio.language.phrasebook.nodes import IMPOSSIBLE, Node, words

AS_SAID: Final = object()
"""As the value of a choice: the words that were said for it."""

DEFAULT_RANGE = (0, 100)
"""Spoken numbers for an integer without bounds; typed text may have any number."""


@dataclass(frozen=True, slots=True)
class NumberSlot:
    """A whole number from ``low`` to ``high`` if spoken; if ``bounded``, also if typed."""

    low: int
    high: int
    bounded: bool = True


@dataclass(frozen=True, slots=True)
class ChoiceSlot:
    """One of some values, each with the words for it."""

    choices: tuple[tuple[Node, Any], ...]


@dataclass(frozen=True, slots=True)
class TextSlot:
    """Arbitrary words; for typed text only, since a closed grammar cannot contain them."""


SlotKind = NumberSlot | ChoiceSlot | TextSlot
Lists = Mapping[str, tuple[tuple[Node, Any], ...]]


def properties_of(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a tool's schema by name; those that are not objects are left out."""
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: schema for name, schema in properties.items() if isinstance(schema, Mapping)}


def required_of(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the required arguments of a call.

    Without ``required`` in the schema, those without a ``default`` are required, as in the firmware
    (main/mcp_server.h, PropertyList::GetRequired). An argument with a default is never required:
    the strict schemas of agent frameworks list every argument.
    """
    properties = properties_of(parameters)
    listed = parameters.get("required")
    names = listed if isinstance(listed, list | tuple) else list(properties)
    return tuple(name for name in names if name in properties and "default" not in properties[name])


def kind_of(
    schema: Mapping[str, Any],
    own: tuple[tuple[Node, Any], ...] = (),
    spoken: tuple[int, int] | None = None,
) -> SlotKind | None:
    """Return the kind of slot for an argument; None if no words can be given for it.

    ``own``: the template's words and values.
    ``spoken``: the range of a number as far as it is spoken; None: all that the schema allows.
    """
    type_name = _type_of(schema)
    options = schema.get("enum")
    if isinstance(options, list | tuple):
        if not own:
            own = tuple((_spoken(option), option) for option in options)
        choices = tuple((say, value) for say, value in own if value in options)
        choices = tuple((say, value) for say, value in choices if say != IMPOSSIBLE)
        return ChoiceSlot(choices) if choices else None
    if own and type_name in {"string", "boolean", "integer"}:
        return ChoiceSlot(own)
    # Numbers within a text: "{a} * {b}".
    if type_name in {"integer", "number"} or (type_name == "string" and spoken is not None):
        low, high = _bound(schema, "minimum"), _bound(schema, "maximum")
        if spoken is not None:
            least = spoken[0] if low is None else max(low, spoken[0])
            most = spoken[1] if high is None else min(high, spoken[1])
            return NumberSlot(least, most, bounded=False) if least <= most else None
        if low is not None and high is not None:
            return NumberSlot(low, high) if low <= high else None
        first = DEFAULT_RANGE[0] if low is None else low
        last = max(DEFAULT_RANGE[1], first) if high is None else high
        return NumberSlot(min(first, last), last, bounded=False)
    return TextSlot() if type_name == "string" else None


def examples_of(schema: Mapping[str, Any]) -> tuple[tuple[Node, Any], ...]:
    """Return the examples of an argument that can be spoken, with the words for each."""
    listed = schema.get("examples")
    examples = listed if isinstance(listed, list | tuple) else ()
    return tuple((say, each) for each in examples if (say := _spoken(each)) != IMPOSSIBLE)


def fits(number: int, schema: Mapping[str, Any]) -> bool:
    """Return whether ``number`` is within the schema's bounds."""
    low, high = _bound(schema, "minimum"), _bound(schema, "maximum")
    return (low is None or number >= low) and (high is None or number <= high)


def clamp(number: int, schema: Mapping[str, Any]) -> int:
    """Return the nearest number within the schema's bounds."""
    low, high = _bound(schema, "minimum"), _bound(schema, "maximum")
    if high is not None:
        number = min(number, high)
    return number if low is None else max(number, low)


def _type_of(schema: Mapping[str, Any]) -> str:
    type_name = schema.get("type")
    if isinstance(type_name, list | tuple):  # ["integer", "null"]: optional in strict schemas
        type_name = next((name for name in type_name if name != "null"), "")
    if type_name is None and isinstance(schema.get("anyOf"), list):
        kinds = [_type_of(option) for option in schema["anyOf"] if isinstance(option, Mapping)]
        type_name = next((name for name in kinds if name and name != "null"), "")
    return type_name if isinstance(type_name, str) else ""


def _bound(schema: Mapping[str, Any], key: str) -> int | None:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


def _spoken(option: object) -> Node:
    if isinstance(option, str):
        said = words(option.replace("_", " ").replace("-", " "))
        return said if said != words("") else IMPOSSIBLE
    return IMPOSSIBLE
