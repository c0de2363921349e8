"""Stations of other packages: a name in the settings gives a factory, imported when it is needed.

The module of a station exports its factory::

    class WordsSettings(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        replace: dict[str, str] = {}

    FACTORY = StationFactory(
        settings_model=WordsSettings, station=WordsStation, create=WordsStation, after="sentences"
    )

Another distribution adds it by an entry point, ``name = "module:attribute"``::

    [project.entry-points."vixio.stations"]
    words = "vixio_words.station:FACTORY"

and a settings file uses it by ``stations: [{name: words, replace: {damn: darn}}]``. Importing that
module must be cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from vixio.core.errors import ConfigError
from vixio.core.plugins import PluginGroup
from vixio.core.station import ListeningStation, ReplyStation, Station

__all__ = ["ENTRY_POINT_GROUP", "StationFactory", "resolve"]

ENTRY_POINT_GROUP = "vixio.stations"

LISTENING = ("vad", "turn_detector", "asr", "text_aggregator")
REPLYING = ("agent", "sentences", "tts")
STANDARD = (*LISTENING, *REPLYING)
"""The stations of every pipeline, in their order."""

SettingsT = TypeVar("SettingsT", bound=BaseModel)


@dataclass(frozen=True)
class StationFactory(Generic[SettingsT]):
    """How to make a station, and where it stands unless the settings say otherwise.

    Raises ConfigError unless one of ``after`` and ``before`` is given, a standard station's name.
    """

    settings_model: type[SettingsT]
    """Validates the options beside ``name``, ``after`` and ``before``. Forbid unknown keys in it,
    and give each option a default where there is one."""
    station: type[Station]
    """The class: a ListeningStation or a ReplyStation."""
    create: Callable[[SettingsT], Station]
    """Makes the station of one session, quickly. Raises ConfigError, one line."""
    after: str = ""
    before: str = ""

    def __post_init__(self) -> None:
        who = self.station.__name__
        if not issubclass(self.station, ListeningStation | ReplyStation):
            raise ConfigError(f"{who} is neither a ListeningStation nor a ReplyStation")
        if bool(self.after) == bool(self.before) or (self.after or self.before) not in STANDARD:
            known = ", ".join(STANDARD)
            raise ConfigError(f"{who} needs `after` or `before`, with one of {known}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a station stands: directly ``after`` or ``before`` another one; one of them is given.

    Several after the same one stand in the order in which they are listed, as do several before it.
    """

    name: str
    station: type[Station]
    after: str = ""
    before: str = ""


class Misplaced(ConfigError):
    """A place that cannot be: ``index`` in the list of places, ``key`` is after, before or name."""

    def __init__(self, index: int, key: str, message: str) -> None:
        super().__init__(message)
        self.index = index
        self.key = key


_STATIONS: PluginGroup[StationFactory[Any]] = PluginGroup(
    ENTRY_POINT_GROUP, "station", StationFactory, {}
)


def resolve(name: str) -> StationFactory[Any]:
    """Import and return the factory of a station. Raises ConfigError, one line with the remedy."""
    return _STATIONS.load(name)


def arrange(places: Sequence[Place]) -> list[str]:
    """Return the names of a pipeline's stations in order: the standard ones and ``places``.

    Raises Misplaced.
    """
    order = list(STANDARD)
    behind: dict[str, str] = {}
    """The last station that was put after each one."""
    for index, place in enumerate(places):
        key, anchor = ("after", place.after) if place.after else ("before", place.before)
        if place.name in order:
            raise Misplaced(index, "name", f"{place.name!r} is there already")
        if anchor not in order:
            raise Misplaced(index, key, _unknown(anchor, order))
        if key == "after":
            position = order.index(behind.get(anchor, anchor)) + 1
            behind[anchor] = place.name
        else:
            position = order.index(anchor)
        listens = issubclass(place.station, ListeningStation)
        heard = {*LISTENING, *(each.name for each in places if _listens(each))}
        if any((name in heard) != listens for name in _own_side(order, position, listens=listens)):
            half = "hears the user" if listens else "works on the reply"
            fits = ", ".join(name for name in order if (name in heard) == listens)
            raise Misplaced(
                index, key, f"{place.name} {half}, so it stands beside one of these: {fits}"
            )
        order.insert(position, place.name)
    return order


def _listens(place: Place) -> bool:
    return issubclass(place.station, ListeningStation)


def _own_side(order: list[str], position: int, *, listens: bool) -> list[str]:
    """Return what stands on the side of ``position`` where a half has only stations of its own."""
    return order[:position] if listens else order[position:]


def _unknown(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name.lower(), known, n=1)
    hint = f", did you mean {close[0]!r}?" if close else ""
    return f"there is no station {name!r} here{hint} (in order: {', '.join(known)})"
