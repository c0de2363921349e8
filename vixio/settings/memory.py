"""The section ``memory``: where conversations and facts are stored."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from vixio.settings.sections import Section


class MemorySection(Section):
    """The store of conversations and facts. ``docs/data.md`` lists what is stored."""

    store: Literal["sqlite", "sqlalchemy", "redis", "none"] = "sqlite"
    path: str = ""
    """Of the SQLite file; empty: the user's state directory."""
    url: SecretStr = SecretStr("")
    """Of the database or the Redis server. It may hold a password."""
    keep_days: float = Field(default=365, ge=0, le=36_500, allow_inf_nan=False)
    """A device not seen for so long is erased; 0: never."""
    summary: bool = True
    """Whether a language model summarises turns that no longer fit."""

    @model_validator(mode="after")
    def _place_fits_store(self) -> Self:
        if self.store in ("sqlalchemy", "redis") and not self.url.get_secret_value():
            example = {
                "sqlalchemy": "postgresql+asyncpg://user:password@host/name",
                "redis": "redis://host:6379/0",
            }[self.store]
            raise ValueError(f"expected url, since store is {self.store}: such as {example}")
        return self
