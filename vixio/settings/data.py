"""The section ``data``: where the registry of devices and the secrets are."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from vixio.data.database.database import IN_PROCESS
from vixio.settings.sections import Section

_POSTGRESQL = re.compile(r"postgres(ql)?(\+\w+)?://[^\s]+")


class DataSection(Section):
    """What outlives the process. See docs/devices.md and docs/data.md."""

    folder: str = ""
    """Of the database file, the secret of the tokens; empty: the user's state directory."""
    database: SecretStr = Field(default=SecretStr(""), validate_default=False)
    """URL of a PostgreSQL database, which may hold a password; empty: a SQLite file in the folder;
    ``none``: nothing outlives the process."""

    @field_validator("database")
    @classmethod
    def _a_database(cls, value: SecretStr) -> SecretStr:
        url = value.get_secret_value()
        if url not in ("", IN_PROCESS) and not _POSTGRESQL.fullmatch(url):
            raise ValueError(
                "expected the URL of a PostgreSQL database, such as "
                "postgresql://vixio:${DB_PASSWORD}@host/vixio; empty for a SQLite file, or none"
            )
        return value

    @property
    def place(self) -> Path | None:
        """Return the folder that was set; None: the user's state directory."""
        return Path(self.folder).expanduser() if self.folder else None

    @property
    def kept(self) -> bool:
        """Whether the registry outlives the process."""
        return self.database.get_secret_value() != IN_PROCESS
