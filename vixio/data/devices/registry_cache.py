"""What a process knows of the registry without asking the database, and how it stays true.

A running server reads the audit trail about once a second: whatever a command, another process or
another server changed takes effect here then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vixio.core.tools.source import Scope
from vixio.data.database.audit import AuditTable, Change
from vixio.data.database.database import Database, Transaction
from vixio.data.devices.access_points import TARGET, AccessPointTable
from vixio.data.devices.records import UNKNOWN, Standing
from vixio.data.devices.tables import DeviceTable, PersonTable, ProfileTable
from vixio.data.devices.token_table import TokenTable


@dataclass(slots=True)
class RegistrySnapshot:
    """The standing of all devices, and the tokens that are void though their signature holds."""

    standings: dict[str, Standing] = field(default_factory=dict)
    profiles: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """The content of each profile, by its name."""
    people: dict[str, str] = field(default_factory=dict)
    """The name of each person, by id."""
    access: dict[str, Scope] = field(default_factory=dict)
    """Whose each access point is, by the digest of its token."""
    revoked: dict[str, int] = field(default_factory=dict)
    """By token id: when it expires, in milliseconds since 1970."""
    last: int = -1
    """The newest entry of the audit trail that is taken into account; -1: nothing was read."""
    at: int = 0
    """When it was read, in milliseconds since 1970: the database may know more since then."""

    @property
    def loaded(self) -> bool:
        """Whether everything has been read once."""
        return self.last >= 0


@dataclass(frozen=True, slots=True)
class RegistryChanges:
    """What has changed. ``everything``: it replaces what was known."""

    last: int
    standings: dict[str, Standing | None]
    """None: the device is forgotten."""
    revoked: dict[str, int]
    profiles: dict[str, Mapping[str, Any]] | None = None
    """All of them; None: they are as they were."""
    people: dict[str, str] | None = None
    """Likewise."""
    access: dict[str, Scope] | None = None
    """Likewise."""
    everything: bool = False
    changes: Sequence[Change] = ()
    """The entries of the audit trail that it was read from."""

    def apply(self, known: RegistrySnapshot) -> Collection[str]:
        """Bring ``known`` up to date; return the devices concerned."""
        if self.everything:
            before = set(known.standings)
            known.standings.clear()
            known.revoked.clear()
        else:
            before = set()
        for device_id, standing in self.standings.items():
            if standing is None:
                known.standings.pop(device_id, None)
            else:
                known.standings[device_id] = standing
        known.revoked.update(self.revoked)
        if self.profiles is not None:
            known.profiles.clear()
            known.profiles.update(self.profiles)
        if self.people is not None:
            known.people.clear()
            known.people.update(self.people)
        if self.access is not None:
            known.access.clear()
            known.access.update(self.access)
        for key, scope in tuple(known.access.items()):
            forgotten = self.standings.get(scope.device, UNKNOWN) is None
            if forgotten or (scope.profile and scope.profile not in known.profiles):
                del known.access[key]  # gone with its device or profile
        known.last = self.last
        return before | set(self.standings)


async def read_changes(
    database: Database, last: int, now: int, *, sure: bool = False
) -> RegistryChanges | None:
    """Return what has changed since the entry ``last``; -1: everything. None: nothing was written.

    What was written may be of no concern here, then ``last`` stays. ``now``: milliseconds since
    1970. Cheap where nothing was written; ``sure``: something was, by this connection, which
    :meth:`Database.changed` does not see.
    """
    if last >= 0 and not sure and not await database.changed():
        return None
    async with database.transaction(write=False) as transaction:
        audit, devices, tokens = (
            AuditTable(transaction),
            DeviceTable(transaction),
            TokenTable(transaction),
        )
        newest = await audit.last()
        if newest == last:
            return RegistryChanges(last, {}, {})
        if last < 0 or newest < last:  # another database: a backup was restored, a file replaced
            everything: dict[str, Standing | None] = {**await devices.standings()}
            revoked = await tokens.revoked(now)
            profiles, people = await _profiles(transaction), await _people(transaction)
            access = await _access(transaction)
            return RegistryChanges(
                newest, everything, revoked, profiles, people, access, everything=True
            )
        standings: dict[str, Standing | None] = {}
        revoked = {}
        new_profiles, new_people, new_access = None, None, None
        changes = await audit.since(last)
        for change in changes:
            kind, _, key = change.target.partition(":")
            if kind == "device":
                device = await devices.find(key)
                standings[key] = device.standing if device is not None else None
            elif kind == "token":
                token = await tokens.find(key)
                if token is not None and token.revoked_at is not None:
                    revoked[key] = token.expires_at
            elif kind == "profile":
                new_profiles = await _profiles(transaction)
            elif kind == "person":
                new_people = await _people(transaction)
            elif kind == TARGET:
                new_access = await _access(transaction)
        last = changes[-1].id if changes else newest
        return RegistryChanges(
            last, standings, revoked, new_profiles, new_people, new_access, changes=changes
        )


async def _profiles(transaction: Transaction) -> dict[str, Mapping[str, Any]]:
    return {profile.name: profile.content for profile in await ProfileTable(transaction).all()}


async def _access(transaction: Transaction) -> dict[str, Scope]:
    return {each.digest: each.scope for each in await AccessPointTable(transaction).all()}


async def _people(transaction: Transaction) -> dict[str, str]:
    return {person.id: person.name for person in await PersonTable(transaction).all()}
