"""An entry of ``stations``: a station of another package, its place, and its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, SerializeAsAny, model_validator

from vixio.core.errors import ConfigError, describe
from vixio.core.station import Station
from vixio.providers.faults import fault
from vixio.settings.sections import Section
from vixio.stations import registry
from vixio.stations.registry import Misplaced, Place, arrange

_OWN = ("name", "after", "before")


class StationSection(Section):
    """``{name: …, after: …, option: value, …}``; the station's own model validates the options."""

    name: str
    after: str = ""
    """The station behind which it stands; without it and ``before``: as the package says."""
    before: str = ""
    options: SerializeAsAny[BaseModel]
    """An instance of the station's ``settings_model``."""

    @model_validator(mode="before")
    @classmethod
    def _check_options(cls, value: object) -> object:
        if not isinstance(value, Mapping) or "options" in value:
            return value
        name = value.get("name")
        if not isinstance(name, str):
            raise fault("expected the name of a station", "name")
        try:
            model = registry.resolve(name).settings_model
        except ConfigError as error:
            raise fault(str(error), "name") from error
        own = {key: value[key] for key in _OWN if key in value}
        given = {key: option for key, option in value.items() if key not in _OWN}
        return {**own, "options": model.model_validate(given)}

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.after and self.before:
            raise ValueError("give `after` or `before`, not both")
        return self

    def place(self) -> Place:
        """Return where it stands."""
        factory = registry.resolve(self.name)
        if self.after or self.before:
            return Place(self.name, factory.station, self.after, self.before)
        return Place(self.name, factory.station, factory.after, factory.before)

    def create(self) -> Station:
        """Make the station of one session. Raises ConfigError."""
        factory = registry.resolve(self.name)
        try:
            made: object = factory.create(self.options)
        except ConfigError as error:
            raise ConfigError(f"station {self.name}: {error}") from error
        except Exception as error:
            raise ConfigError(f"station {self.name} cannot be made: {describe(error)}") from error
        if not isinstance(made, factory.station):
            found, expected = type(made).__name__, factory.station.__name__
            raise ConfigError(f"station {self.name}: its package made a {found}, not a {expected}")
        return made

    @classmethod
    def keys_of(cls, value: object) -> dict[str, Any]:
        """Return the valid fields of the entry ``value`` of a file, by key."""
        own = {key: cls.model_fields[key] for key in _OWN}
        name = value.get("name") if isinstance(value, Mapping) else None
        if not isinstance(name, str):
            return own
        try:
            model = registry.resolve(name).settings_model
        except ConfigError:
            return own
        return {**own, **{each.alias or key: each for key, each in model.model_fields.items()}}


def check_places(stations: Sequence[StationSection]) -> None:
    """Raise the error of the first station that cannot stand where it should."""
    try:
        arrange([station.place() for station in stations])
    except Misplaced as error:
        raise fault(str(error), error.index, error.key) from error
