"""What people do with people: name them, and let devices belong to them.

A person's devices share what is remembered about that person.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Final

from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database, Transaction
from vixio.data.devices.records import NotKnown, PersonRecord, RegistryError, checked_text
from vixio.data.devices.tables import PEOPLE, PersonTable

ID_BYTES: Final = 8


class PeopleRepository:
    """The operations on an open database. ``clock``: milliseconds since 1970."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock

    async def all(self) -> Sequence[PersonRecord]:
        """Return all people, by name."""
        async with self._database.transaction(write=False) as transaction:
            return await PersonTable(transaction).all()

    async def find(self, person: str) -> PersonRecord:
        """Return a person by name, whatever its case, or by id. Raises RegistryError."""
        async with self._database.transaction(write=False) as transaction:
            return await _known(transaction, person)

    async def devices(self) -> dict[str, list[str]]:
        """Return the ids of the devices that belong to somebody, by the person's id."""
        async with self._database.transaction(write=False) as transaction:
            return await PersonTable(transaction).devices()

    async def add(self, name: str, actor: str) -> PersonRecord:
        """Add a person. Raises RegistryError."""
        name, at = _checked_name(name), self._clock()
        added = PersonRecord(secrets.token_hex(ID_BYTES), name, at)
        async with self._database.transaction() as transaction:
            await transaction.lock(PEOPLE)
            await _free(transaction, name)
            await PersonTable(transaction).add(added)
            await _note(transaction, at, actor, "person added", added.id, name)
        return added

    async def rename(self, person: str, name: str, actor: str) -> PersonRecord:
        """Give a person another name. Raises RegistryError."""
        name = _checked_name(name)
        async with self._database.transaction() as transaction:
            await transaction.lock(PEOPLE)
            found = await _known(transaction, person)
            await _free(transaction, name, but=found.id)
            await PersonTable(transaction).rename(found.id, name)
            await _note(transaction, self._clock(), actor, "person renamed", found.id, name)
        return PersonRecord(found.id, name, found.added_at)

    async def remove(self, person: str, actor: str) -> PersonRecord:
        """Remove a person; the devices belong to nobody then. Raises RegistryError.

        What is remembered about the person is not in the registry: the caller erases it.
        """
        async with self._database.transaction() as transaction:
            await transaction.lock(PEOPLE)
            found = await _known(transaction, person)
            await PersonTable(transaction).remove(found.id)
            await _note(transaction, self._clock(), actor, "person removed", found.id, found.name)
        await self._database.purge()
        return found


def _checked_name(name: str) -> str:
    name = " ".join(checked_text(name).split())
    if not name:
        raise RegistryError("a person has a name")
    return name


async def _known(transaction: Transaction, person: str) -> PersonRecord:
    """Return a person by name or id. Raises NotKnown."""
    people = await PersonTable(transaction).all()
    # Folded here: SQLite folds ASCII alone.
    wanted = " ".join(person.casefold().split())
    named = next((each for each in people if each.name.casefold() == wanted), None)
    found = named or next((each for each in people if each.id == person), None)
    if found is None:
        raise NotKnown(f"nobody is called {person!r}: `vixio people` lists who is known")
    return found


async def _free(transaction: Transaction, name: str, *, but: str = "") -> None:
    """Raise RegistryError if somebody else has a name."""
    for each in await PersonTable(transaction).all():
        if each.id != but and each.name.casefold() == name.casefold():
            raise RegistryError(f"there is a person called {each.name!r} already")


async def _note(
    transaction: Transaction, at: int, actor: str, action: str, person_id: str, name: str
) -> None:
    await AuditTable(transaction).add(at, actor, action, f"person:{person_id}", name=name)
