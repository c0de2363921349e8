"""The entities that Home Assistant exposes, as ``GetLiveContext`` writes them.

``homeassistant/helpers/llm.py``: the result is JSON, ``{"success": true, "result": TEXT}``. The
text is a line for the model, then YAML: a list with ``names`` (with aliases, joined by ", "),
``domain``, ``state``, ``areas`` (with aliases) and ``attributes``. Calendars and scripts are not in
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vixio.core.errors import ToolError
from vixio.core.well_formed import well_formed

MAX_ENTITIES: Final = 400
"""More would make a grammar in which a recogniser mistakes them for each other."""

MAX_CHARS: Final = 400_000
"""Of the text: about a kilobyte an entity."""

_MAX_NAME: Final = 60
_MAX_NAMES: Final = 8
"""Of one entity or room, with its aliases."""

_DOORS: Final = frozenset({"door", "garage", "gate"})
_OPENINGS: Final = frozenset({"door", "garage_door", "opening", "window"})
_GUARDED: Final = frozenset({"lock", "alarm_control_panel"})
_UNKNOWN: Final = frozenset({"", "unavailable", "unknown"})


@dataclass(frozen=True, slots=True)
class Entity:
    """``names`` and ``areas``: the name, then aliases; ``areas`` is empty without a room."""

    names: tuple[str, ...]
    domain: str
    state: str = ""
    areas: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What Home Assistant calls it."""
        return self.names[0]

    @property
    def area(self) -> str:
        """Its room; empty without one."""
        return self.areas[0] if self.areas else ""

    @property
    def kind(self) -> str:
        """Its class within its domain: ``garage`` of a cover, ``temperature`` of a sensor."""
        return self.attributes.get("device_class", "")

    @property
    def guarded(self) -> bool:
        """Whether it lets people in: a lock, an alarm, a door, a gate."""
        return self.domain in _GUARDED or (self.domain == "cover" and self.kind in _DOORS)

    @property
    def available(self) -> bool:
        """Whether its state is known."""
        return self.state not in _UNKNOWN

    @property
    def told(self) -> str:
        """Its state as one says it, in English, with its unit."""
        if self.domain == "binary_sensor" and self.state in ("on", "off"):
            if self.kind in _OPENINGS:
                return "open" if self.state == "on" else "closed"
            if self.kind == "lock":
                return "unlocked" if self.state == "on" else "locked"
        unit = self.attributes.get("unit_of_measurement", "")
        return f"{self.state} {unit}".strip()

    def called(self, name: str) -> bool:
        """Whether ``name`` is one of its names, in any case."""
        return name.casefold() in map(str.casefold, self.names)

    def within(self, area: str) -> bool:
        """Whether it is in this room."""
        return area.casefold() in map(str.casefold, self.areas)


def find(
    entities: Iterable[Entity],
    name: str = "",
    area: str = "",
    domains: Sequence[str] = (),
    kinds: Sequence[str] = (),
) -> list[Entity]:
    """Return the entities with this name, in this room, of these domains and classes."""
    return [
        each
        for each in entities
        if (not name or each.called(name))
        and (not area or each.within(area))
        and (not domains or each.domain in domains)
        and (not kinds or each.kind in kinds)
    ]


def read_entities(answer: str) -> tuple[Entity, ...]:
    """Return the entities in an answer of ``GetLiveContext``; takes about 30 ms for hundreds.

    None if none are exposed. Raises ToolError for an answer of another form.
    """
    import yaml  # not at the start of every server

    # All values are text: a state may be ``on``, which YAML takes for true.
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        read = json.loads(answer)
        if read.get("success") is False:  # nothing is exposed
            return ()
        text = read["result"]
        start = 0 if text.startswith("- ") else text.index("\n- ") + 1
        # Bounded by the text: aliases of YAML are shared, and only text is taken from it.
        listed = yaml.load(text[start : start + MAX_CHARS], loader)  # noqa: S506 - only text
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, yaml.YAMLError):
        raise ToolError("failed", "the answer of GetLiveContext is malformed") from None
    if not isinstance(listed, list):
        raise ToolError("failed", "the answer of GetLiveContext is malformed")
    found = (_entity(each) for each in listed[:MAX_ENTITIES] if isinstance(each, dict))
    return tuple(each for each in found if each is not None)


def _entity(entry: Mapping[Any, Any]) -> Entity | None:
    names, domain = _names(entry.get("names")), entry.get("domain")
    if not names or not isinstance(domain, str):
        return None
    given = entry.get("attributes")
    attributes = given.items() if isinstance(given, dict) else ()
    return Entity(
        names,
        domain[:_MAX_NAME],
        str(entry.get("state") or "")[:_MAX_NAME] if _is_text(entry.get("state")) else "",
        _names(entry.get("areas")),
        {str(key): well_formed(value[:_MAX_NAME]) for key, value in attributes if _is_text(value)},
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, str):
        return ()
    names = (well_formed(each.strip()) for each in value.split(", "))
    return tuple(each for each in names if 0 < len(each) <= _MAX_NAME)[:_MAX_NAMES]
