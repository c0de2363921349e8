"""What profiles said before: a bounded number of versions of each, also of those removed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vixio.data.database.database import Row, Transaction

MAX_VERSIONS: Final = 50
"""Of one profile; then the oldest is dropped."""

MAX_REMOVED: Final = 100
"""Removed profiles whose versions are kept; then those removed first are dropped."""

_LOCK: Final = "vixio.profiles"


@dataclass(frozen=True, slots=True)
class ProfileVersion:
    """A profile after one of its changes. ``version`` counts from 1, ``changed_at``: in
    milliseconds since 1970."""

    version: int
    content: Mapping[str, Any]
    """Of a removed profile: the last one that it had."""
    removed: bool
    changed_at: int
    actor: str
    """Empty: not known, as of what was written by an earlier Vixio."""

    @classmethod
    def of(cls, row: Row) -> ProfileVersion:
        """Read a row of the table ``profile_versions``."""
        return cls(
            row["version"],
            json.loads(row["content"]),
            bool(row["removed"]),
            row["changed_at"],
            row["actor"],
        )


class ProfileVersionTable:
    """The versions of all profiles."""

    def __init__(self, transaction: Transaction) -> None:
        self._in = transaction

    async def hold(self) -> None:
        """Keep other writers of profiles away until the transaction ends."""
        await self._in.lock(_LOCK)

    async def all(self, name: str) -> Sequence[ProfileVersion]:
        """Return the versions of a profile, the newest first."""
        rows = await self._in.fetch(
            "SELECT * FROM profile_versions WHERE name = :name ORDER BY version DESC", name=name
        )
        return [ProfileVersion.of(row) for row in rows]

    async def find(self, name: str, version: int) -> ProfileVersion | None:
        """Return one version; None: it is not known, or not any more."""
        row = await self._in.fetch_one(
            "SELECT * FROM profile_versions WHERE name = :name AND version = :version",
            name=name,
            version=version,
        )
        return ProfileVersion.of(row) if row else None

    async def last(self, name: str) -> int:
        """Return the number of the newest version; 0: there is none."""
        row = await self._in.fetch_one(
            "SELECT COALESCE(MAX(version), 0) AS version FROM profile_versions WHERE name = :name",
            name=name,
        )
        return int(row["version"]) if row else 0

    async def add(
        self, name: str, content: Mapping[str, Any], at: int, actor: str, *, removed: bool = False
    ) -> None:
        """Add the next version of a profile, in a transaction that holds them."""
        version = await self.last(name) + 1
        await self._in.execute(
            "INSERT INTO profile_versions (name, version, content, removed, changed_at, actor) "
            "VALUES (:name, :version, :content, :removed, :at, :actor)",
            name=name,
            version=version,
            content=json.dumps(content, ensure_ascii=False),
            removed=int(removed),
            at=at,
            actor=actor,
        )
        await self._in.execute(
            "DELETE FROM profile_versions WHERE name = :name AND version <= :oldest",
            name=name,
            oldest=version - MAX_VERSIONS,
        )

    async def removed(self) -> Sequence[str]:
        """Return the names of removed profiles, the last removed first."""
        rows = await self._in.fetch(
            "SELECT name FROM profile_versions WHERE name NOT IN (SELECT name FROM profiles) "
            "GROUP BY name ORDER BY MAX(changed_at) DESC, name"
        )
        return [row["name"] for row in rows]

    async def shed(self) -> None:
        """Drop the versions of profiles that were removed before the last MAX_REMOVED."""
        for name in (await self.removed())[MAX_REMOVED:]:
            await self._in.execute("DELETE FROM profile_versions WHERE name = :name", name=name)
