"""The tools that the phrase book has for a home: few, with the words of its entities and rooms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from vixio.core.tools.types import JsonObject, ToolCaller, ToolDefinition, ToolOptions
from vixio.tools.home_assistant.entities import Entity

SWITCH: Final = "home.switch"
ADJUST: Final = "home.adjust"
STATE: Final = "home.state"

KINDS: Final[Mapping[str, Sequence[str]]] = {
    "light": ("light",),
    "cover": ("cover",),
    "fan": ("fan",),
    "climate": ("climate",),
    "lock": ("lock",),
    "media": ("media_player",),
}
"""What a room's things are called, and their domains in Home Assistant."""

ADJUSTED: Final[Mapping[str, tuple[str, str, Sequence[str]]]] = {
    "brightness": ("HassLightSet", "brightness", ("light",)),
    "temperature": ("HassClimateSetTemperature", "temperature", ("climate",)),
    "position": ("HassSetPosition", "position", ("cover", "valve")),
    "volume": ("HassSetVolume", "volume_level", ("media_player",)),
    "speed": ("HassFanSetSpeed", "percentage", ("fan",)),
}
"""Quantity → Home Assistant's tool, its argument, and the domains that have it."""

SWITCHED: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "on": ("HassTurnOn", ()),
    "off": ("HassTurnOff", ()),
    "open": ("HassTurnOn", ("cover", "valve")),
    "close": ("HassTurnOff", ("cover", "valve")),
    "lock": ("HassTurnOn", ("lock",)),
    "unlock": ("HassTurnOff", ("lock",)),
}
"""Action → Home Assistant's tool, and the domains that it is for; none: any."""

_GROUPS: Final[Mapping[str, Sequence[str]]] = {
    "switch": (
        *("light", "switch", "fan", "climate", "media_player", "scene", "input_boolean"),
        *("humidifier", "water_heater", "remote", "siren", "automation", "group"),
    ),
    "open": ("cover", "valve"),
    "lock": ("lock",),
    "light": ("light",),
    "climate": ("climate",),
    "media": ("media_player",),
    "fan": ("fan",),
}
"""The groups of names that templates of the phrase book ask for; ``any`` has all."""


Asks = Callable[[str, JsonObject], bool]
"""As in ToolDefinition."""


def definitions(
    entities: Iterable[Entity],
    source: str,
    caller: ToolCaller,
    timeout: float,
    asks: Asks | None,
) -> tuple[ToolDefinition, ...]:
    """Return the tools. ``timeout``: seconds for a call."""
    entities = tuple(entities)
    words = {
        group: _unique(name for each in entities if each.domain in domains for name in each.names)
        for group, domains in _GROUPS.items()
    }
    words["any"] = _unique(name for each in entities for name in each.names)
    name = {"type": "string", "x-words": words}
    areas = _unique(area for each in entities for area in each.areas)
    area = {"type": "string", "x-words": {"area": areas}}
    kind = {"type": "string", "enum": list(KINDS)}

    def tool(name: str, what: str, required: str, reads: bool, **more: object) -> ToolDefinition:
        schema = {"type": "object", "properties": {**place, **more}, "required": [required]}
        options = ToolOptions(timeout=timeout, read_only=reads, idempotent=reads)
        own = None if reads else asks
        return ToolDefinition(
            name, what, schema, source, options, caller, asks=own, phrases_only=True
        )

    every = {"type": "boolean"}
    place: dict[str, object] = {"name": name, "area": area, "kind": kind, "all": every}
    action = {"type": "string", "enum": list(SWITCHED)}
    quantity = {"type": "string", "enum": list(ADJUSTED)}
    value = {"type": "integer", "minimum": 0, "maximum": 100}
    about = {"type": "string", "enum": ["state", "temperature", "humidity"]}
    return (
        tool(SWITCH, "Switch, open or lock.", "action", False, action=action),
        tool(ADJUST, "Set a quantity.", "quantity", False, quantity=quantity, value=value),
        tool(STATE, "Read states.", "about", True, about=about),
    )


def _unique(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
