"""People: named, given devices, renamed, removed; on each database."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.registry_databases import Make
from tests.support.running_registry import KITCHEN, running
from tests.support.waiting import until
from tests.unit.data.devices.test_assigned import profiles_of
from vixio.core.device import Device
from vixio.data.devices.records import NotKnown, RegistryError, Standing
from vixio.data.devices.registry_cache import RegistrySnapshot
from vixio.data.devices.repository import DeviceRepository

BATH = "02:00:00:00:00:02"


async def test_a_device_belongs_to_a_person(make: Make) -> None:
    async with running(make) as here:
        repository = here.repository
        await repository.add(KITCHEN, "me", name="Kitchen")
        await repository.add(BATH, "me")
        anna = await repository.people.add("  Anna   Lisa ", "me")
        assert (anna.name, len(anna.id)) == ("Anna Lisa", 16)
        given = await repository.give("kitchen", "anna lisa", "me")
        assert (given.person, given.person_id) == ("Anna Lisa", anna.id)
        assert (await repository.give(BATH, anna.id, "me")).person == "Anna Lisa", "by the id too"
        assert await repository.people.devices() == {anna.id: [KITCHEN, BATH]}
        assert (await repository.give(BATH, "", "me")).person is None
        assert [(each.id, each.person) for each in await repository.devices()] == [
            (KITCHEN, "Anna Lisa"),
            (BATH, None),
        ]
        renamed = await repository.people.rename("ANNA LISA", "Änne", "me")
        assert renamed.id == anna.id
        assert (await repository.device(KITCHEN)).person == "Änne"
        assert (await repository.people.find("ÄNNE")).id == anna.id
        await repository.people.remove("änne", "me")
        assert (await repository.device(KITCHEN)).person is None
        assert await repository.people.all() == []
        trail = [(each.action, each.target) for each in await repository.audit(99)]
        assert trail[2:] == [
            ("person added", f"person:{anna.id}"),
            ("given", f"device:{KITCHEN}"),
            ("given", f"device:{BATH}"),
            ("given", f"device:{BATH}"),
            ("person renamed", f"person:{anna.id}"),
            ("person removed", f"person:{anna.id}"),
        ]


async def test_what_is_refused(make: Make) -> None:
    async with running(make) as here:
        repository = here.repository
        await repository.add(KITCHEN, "me")
        await repository.people.add("Anna", "me")
        await repository.people.add("Ben", "me")
        for name, words in (
            ("ANNA", "a person called 'Anna' already"),
            (" ", "a person has a name"),
            ("x" * 65, "at most 64 characters"),
            ("a\nb", "without control characters"),
        ):
            with pytest.raises(RegistryError, match=words):
                await repository.people.add(name, "me")
        with pytest.raises(RegistryError, match="called 'Anna' already"):
            await repository.people.rename("Ben", "anna", "me")
        assert (await repository.people.rename("Ben", "BEN", "me")).name == "BEN", "its own name"
        for change in (
            repository.give(KITCHEN, "Carl", "me"),
            repository.people.rename("Carl", "Karl", "me"),
            repository.people.remove("Carl", "me"),
        ):
            with pytest.raises(NotKnown, match="nobody is called 'Carl'"):
                await change
        with pytest.raises(NotKnown, match="no device"):
            await repository.give(BATH, "Anna", "me")


async def test_two_who_give_one_name_at_once(make: Make) -> None:
    databases = [make() for _ in range(2)]
    for database in databases:
        await database.open()
    try:
        repositories = [DeviceRepository(database) for database in databases]
        tries = [repositories[each % 2].people.add("Anna", "me") for each in range(6)]
        done = await asyncio.gather(*tries, return_exceptions=True)
        refused = [each for each in done if isinstance(each, BaseException)]
        assert len(refused) == 5
        assert all(isinstance(each, RegistryError) for each in refused), refused
        assert len(await repositories[0].people.all()) == 1
    finally:
        for database in databases:
            await database.close()


async def test_a_running_server_follows(make: Make) -> None:
    async with running(make) as here:
        changes: list[str] = []
        profiles = profiles_of(here.registry.known)

        def served() -> tuple[str, str]:
            profile = profiles(Device(KITCHEN))
            return profile.user, profile.person

        here.registry.on_changed = lambda: changes.append(served()[0])
        anna = await here.repository.people.add("Anna", "me")
        await here.repository.add(KITCHEN, "me")
        await here.repository.give(KITCHEN, "Anna", "me")
        await until(lambda: served() == ("Anna", anna.id))
        await here.repository.people.rename("Anna", "Ann", "me")
        await until(lambda: changes[-1] == "Ann", what="the news of the new name")
        await here.repository.people.remove("Ann", "me")
        await until(lambda: changes[-1] == "", what="the news of the removal")
        assert served() == ("", "")


def test_names_are_no_place_for_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "of the server")
    known = RegistrySnapshot(
        standings={KITCHEN: Standing(name="${A_SECRET}", person="1"), BATH: Standing(person="1")},
        people={"1": "${A_SECRET}"},
    )
    profiles = profiles_of(known)
    assert profiles(Device(KITCHEN)).name == "${A_SECRET}"
    assert profiles(Device(KITCHEN)).user == "${A_SECRET}"
    known.people["2"] = known.people["1"]
    known.standings[BATH] = Standing(person="2")
    assert profiles(Device(BATH)).person == "2", "another person of the same name"
