"""What people do with profiles: write them, and give them to devices."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from vixio.database.audit import AuditTable
from vixio.database.database import Database
from vixio.devices.records import NotKnown, ProfileRecord, RegistryError
from vixio.devices.tables import ProfileTable

MAX_BYTES: Final = 64 * 1024
"""Of a profile, as JSON."""

NAME_PATTERN: Final = r"[\w][\w .-]{0,63}"
"""A profile's name."""


class ProfileDesk:
    """The operations on an open database. ``clock``: milliseconds since 1970.

    Whether a profile's content is valid depends on the settings: the caller has seen to that
    (:func:`vixio.settings.profile.stored_section`).
    """

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock

    async def all(self) -> Sequence[ProfileRecord]:
        """Return all profiles, by name."""
        async with self._database.transaction(write=False) as transaction:
            return await ProfileTable(transaction).all()

    async def find(self, name: str) -> ProfileRecord:
        """Return a profile. Raises RegistryError."""
        async with self._database.transaction(write=False) as transaction:
            found = await ProfileTable(transaction).find(name)
        if found is None:
            raise unknown(name)
        return found

    async def put(self, name: str, content: Mapping[str, Any], actor: str) -> None:
        """Add a profile, or replace it. Raises RegistryError."""
        if not re.fullmatch(NAME_PATTERN, name):
            raise RegistryError(
                f"{name!r} is no name for a profile: letters, digits, spaces, '.', '-' and '_', at "
                "most 64"
            )
        if len(json.dumps(content)) > MAX_BYTES:
            raise RegistryError(f"a profile has at most {MAX_BYTES // 1024} KB")
        at = self._clock()
        async with self._database.transaction() as transaction:
            before = await ProfileTable(transaction).find(name)
            await ProfileTable(transaction).put(name, content, at)
            old = before.content if before is not None else {}
            keys = sorted(key for key in {*old, *content} if old.get(key) != content.get(key))
            await AuditTable(transaction).add(
                at, actor, "profile written", f"profile:{name}", keys=", ".join(keys)
            )

    async def remove(self, name: str, actor: str) -> None:
        """Remove a profile; its devices have none then. Raises RegistryError."""
        async with self._database.transaction() as transaction:
            if not await ProfileTable(transaction).remove(name):
                raise unknown(name)
            audit = AuditTable(transaction)
            await audit.add(self._clock(), actor, "profile removed", f"profile:{name}")


def unknown(name: str) -> NotKnown:
    """Return the error for a profile that is not there."""
    return NotKnown(f"there is no profile {name!r}: `vixio profiles` lists them")
