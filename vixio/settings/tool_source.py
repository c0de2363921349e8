"""An entry of ``tools.sources``: the type of a tool source, its name, and that type's options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field, SerializeAsAny, field_validator, model_validator

from vixio.core.errors import ConfigError
from vixio.settings.sections import Section
from vixio.tools import registry
from vixio.tools.source_settings import SourceName, SourceSettings

_OWN = ("type", "name", "enabled")


class ToolSourceSection(Section):
    """``{type: …, name: …, option: value, …}``; the type's own model validates the options."""

    type: str
    name: SourceName
    """In patterns, counters and in front of colliding tool names; unset: the type."""
    enabled: bool = True
    options: SerializeAsAny[BaseModel] = Field(default_factory=SourceSettings)
    """An instance of the type's ``settings_model``."""

    @model_validator(mode="before")
    @classmethod
    def _check_options(cls, value: object) -> object:
        if not isinstance(value, Mapping) or "options" in value:
            return value
        own = {key: value[key] for key in _OWN if key in value}
        model = _model_of(value)
        if model is None:
            return {"name": "unknown", **own}  # the validator of `type` reports it
        given = {key: option for key, option in value.items() if key not in _OWN}
        return {"name": value["type"], **own, "options": model.model_validate(given)}

    @field_validator("type")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            registry.resolve(value)
        except ConfigError as error:
            raise ValueError(str(error)) from error
        return value

    @classmethod
    def keys_of(cls, value: object) -> dict[str, Any]:
        """Return the valid fields of the entry ``value`` of a file, by key."""
        model = _model_of(value)
        own = {key: cls.model_fields[key] for key in _OWN}
        fields = model.model_fields if model is not None else {}
        return {**own, **{field.alias or name: field for name, field in fields.items()}}


def _model_of(value: object) -> type[BaseModel] | None:
    """Return the model of the options of an entry; None: its type is missing or unknown."""
    chosen = value.get("type") if isinstance(value, Mapping) else None
    if not isinstance(chosen, str):
        return None
    try:
        return registry.resolve(chosen).settings_model
    except ConfigError:
        return None
