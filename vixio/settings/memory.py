"""The section ``memory``: whether and how long conversations and facts are kept."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, model_validator

from vixio.settings.sections import Section

_GONE: Final = ("redis", "sqlalchemy")
"""Stores of earlier versions."""


class MemorySection(Section):
    """Conversations and facts, in the registry's database. ``docs/data.md`` lists what is kept."""

    store: Literal["database", "none"] = "database"
    """``none``: what is remembered ends with the server."""
    path: str = ""
    """Where an earlier version kept its SQLite file, which the first start takes over; empty: the
    user's state directory."""
    keep_days: float = Field(default=365, ge=0, le=36_500, allow_inf_nan=False)
    """A device not seen for so long is erased; 0: never."""
    summary: bool = True
    """Whether a language model summarises turns that no longer fit."""

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, values: Any) -> Any:  # noqa: ANN401 - anything may be written
        if not isinstance(values, dict):
            return values
        if (store := values.get("store")) in _GONE:
            taken = "what is in that database is taken over, " if store == "sqlalchemy" else ""
            raise ValueError(
                f"store {store} is gone, what is remembered is in data.database: remove store and "
                f"url; {taken}what is elsewhere comes along by `vixio export` of the version "
                "before and `vixio restore` of this one"
            )
        return {**values, "store": "database"} if values.get("store") == "sqlite" else values
