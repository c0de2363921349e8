"""What people do with profiles: write them, and give them to devices."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database, Transaction
from vixio.data.devices.profile_versions import ProfileVersion, ProfileVersionTable
from vixio.data.devices.records import NotKnown, ProfileRecord, RegistryError
from vixio.data.devices.tables import ProfileTable
from vixio.data.papers import index
from vixio.data.papers.records import owner_of

MAX_BYTES: Final = 64 * 1024
"""Of a profile, as JSON."""

NAME_PATTERN: Final = r"[\w][\w .-]{0,63}"
"""A profile's name."""

RESERVED: Final = "schema"
"""What stands in the place of a name in the API."""

ADDED: Final = "*"
"""In front of a profile's name: the row of the tools that were added for it. Alone: for all
devices. No profile has such a name."""

AddedTools = Mapping[str, Mapping[str, Any]]
"""By the name of the source: its ``type`` and options."""


class ProfileRepository:
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
            found = await ProfileTable(transaction).all()
        return [each for each in found if not each.name.startswith(ADDED)]

    async def find(self, name: str) -> ProfileRecord:
        """Return a profile. Raises RegistryError."""
        async with self._database.transaction(write=False) as transaction:
            found = await ProfileTable(transaction).find(name)
        if found is None or name.startswith(ADDED):
            raise unknown(name)
        return found

    async def tools(self) -> Mapping[str, AddedTools]:
        """Return the tools that were added, by profile; empty: for all devices."""
        async with self._database.transaction(write=False) as transaction:
            found = await ProfileTable(transaction).all()
        return added_tools({each.name: each.content for each in found})

    async def change_tools(
        self,
        profile: str,
        change: Callable[[AddedTools], Awaitable[AddedTools]],
        actor: str,
        action: str,
    ) -> None:
        """Replace the tools that were added for a profile; empty: for all devices.

        Nobody else writes any while ``change`` runs. Raises RegistryError.
        """
        async with self._database.transaction() as transaction:
            await ProfileVersionTable(transaction).hold()
            if profile and await ProfileTable(transaction).find(profile) is None:
                raise unknown(profile)
            row = f"{ADDED}{profile}"
            before = await ProfileTable(transaction).find(row)
            content = await change(before.content if before is not None else {})
            if len(json.dumps(content)) > MAX_BYTES:
                raise RegistryError(f"the tools of a profile have at most {MAX_BYTES // 1024} KB")
            await self._write(transaction, row, content, actor, action)

    async def put(self, name: str, content: Mapping[str, Any], actor: str) -> None:
        """Add a profile, or replace it. Raises RegistryError."""
        if not re.fullmatch(NAME_PATTERN, name):
            raise RegistryError(
                f"{name!r} is no name for a profile: letters, digits, spaces, '.', '-' and '_', at "
                "most 64"
            )
        if name == RESERVED:
            raise RegistryError(f"{RESERVED!r} is not free as a name of a profile: take another")
        if len(json.dumps(content)) > MAX_BYTES:
            raise RegistryError(f"a profile has at most {MAX_BYTES // 1024} KB")
        async with self._database.transaction() as transaction:
            await self._write(transaction, name, content, actor, "profile written")

    async def remove(self, name: str, actor: str) -> None:
        """Remove a profile with its documents; its devices have none then. Raises RegistryError."""
        at = self._clock()
        async with self._database.transaction() as transaction:
            versions = ProfileVersionTable(transaction)
            await versions.hold()
            before = await ProfileTable(transaction).find(name)
            if before is None or name.startswith(ADDED):
                raise unknown(name)
            await self._keep(versions, before)
            await ProfileTable(transaction).remove(name)
            await ProfileTable(transaction).remove(f"{ADDED}{name}")
            await index.erase(transaction, "owner = :owner", owner=owner_of(profile=name))
            await versions.add(name, before.content, at, actor, removed=True)
            await versions.shed()
            await AuditTable(transaction).add(at, actor, "profile removed", f"profile:{name}")
        await self._database.purge()

    async def removed(self) -> Sequence[str]:
        """Return the names of removed profiles that can be restored, the last removed first."""
        async with self._database.transaction(write=False) as transaction:
            found = await ProfileVersionTable(transaction).removed()
        return [each for each in found if not each.startswith(ADDED)]

    async def versions(self, name: str) -> Sequence[ProfileVersion]:
        """Return what a profile was after each change, the newest first. Raises RegistryError."""
        if name.startswith(ADDED):
            raise unknown(name)
        async with self._database.transaction(write=False) as transaction:
            found = await ProfileVersionTable(transaction).all(name)
            present = None if found else await ProfileTable(transaction).find(name)
        if present is not None:  # from a backup of an earlier Vixio
            return [ProfileVersion(1, present.content, False, present.changed_at, "")]
        if not found:
            raise unknown(name)
        return found

    async def version(self, name: str, version: int) -> ProfileVersion:
        """Return one of :meth:`versions`. Raises RegistryError."""
        for each in await self.versions(name):
            if each.version == version:
                return each
        raise NotKnown(f"the profile {name!r} has no version {version}, or not any more")

    async def restore(self, name: str, version: int, actor: str) -> None:
        """Write a profile as it was, as a new version, also one that was removed.

        The devices that it had then do not get it back. Raises RegistryError.
        """
        content = (await self.version(name, version)).content
        async with self._database.transaction() as transaction:
            await self._write(
                transaction, name, content, actor, "profile restored", version=version
            )

    async def _write(
        self,
        transaction: Transaction,
        name: str,
        content: Mapping[str, Any],
        actor: str,
        action: str,
        **detail: Any,  # noqa: ANN401 - JSON
    ) -> None:
        at = self._clock()
        versions = ProfileVersionTable(transaction)
        await versions.hold()
        before = await ProfileTable(transaction).find(name)
        if before is not None:
            await self._keep(versions, before)
        await ProfileTable(transaction).put(name, content, at)
        await versions.add(name, content, at, actor)
        old = before.content if before is not None else {}
        keys = sorted(key for key in {*old, *content} if old.get(key) != content.get(key))
        await AuditTable(transaction).add(
            at, actor, action, f"profile:{name}", keys=", ".join(keys), **detail
        )

    async def _keep(self, versions: ProfileVersionTable, before: ProfileRecord) -> None:
        """Keep a profile from a backup of an earlier Vixio, which has no versions."""
        if not await versions.last(before.name):
            await versions.add(before.name, before.content, before.changed_at, "")


def added_tools(profiles: Mapping[str, Mapping[str, Any]]) -> dict[str, AddedTools]:
    """Return the added tools among the rows of profiles, by profile; empty: for all devices."""
    return {
        name.removeprefix(ADDED): content
        for name, content in profiles.items()
        if name.startswith(ADDED) and content
    }


def unknown(name: str) -> NotKnown:
    """Return the error for a profile that is not there."""
    return NotKnown(f"there is no profile {name!r}: `vixio profiles` lists them")
