"""What profiles were before: kept, bounded, and restored; on each database."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.support.registry_databases import Make
from tests.support.running_registry import KITCHEN
from vixio.data.database.database import Database
from vixio.data.devices.profile_versions import MAX_REMOVED, MAX_VERSIONS
from vixio.data.devices.records import NotKnown, RegistryError
from vixio.data.devices.repository import DeviceRepository


async def opened(make: Make) -> Database:
    database = make()
    await database.open()
    return database


async def test_each_change_is_a_version_and_can_be_restored(make: Make) -> None:
    database = await opened(make)
    now = iter(range(1_000, 2_000))
    repository = DeviceRepository(database, lambda: next(now))
    profiles = repository.profiles
    await repository.add(KITCHEN, "me")
    await profiles.put("child", {"language": "de"}, "ann")
    await profiles.put("child", {"language": "fr", "user": "${ÄNNE}"}, "ben")
    await repository.assign(KITCHEN, "child", "me")
    assert await repository.with_profile("child", 100) == ([(KITCHEN, "")], 1)
    assert await repository.with_profile("child", 0) == ([], 1)
    await profiles.remove("child", "cid")
    assert await profiles.removed() == ["child"]
    with pytest.raises(NotKnown):
        await profiles.find("child")

    found = await profiles.versions("child")
    assert [(each.version, each.actor, each.removed) for each in found] == [
        (3, "cid", True),
        (2, "ben", False),
        (1, "ann", False),
    ]
    assert found[0].content == found[1].content == {"language": "fr", "user": "${ÄNNE}"}
    assert found[0].changed_at > found[1].changed_at > found[2].changed_at

    await profiles.restore("child", 1, "dora")
    assert (await profiles.find("child")).content == {"language": "de"}
    assert await profiles.removed() == []
    newest = (await profiles.versions("child"))[0]
    assert (newest.version, newest.actor, newest.content) == (4, "dora", {"language": "de"})
    assert (await repository.device(KITCHEN)).profile is None, "devices do not get it back"
    entry = (await repository.audit(1))[0]
    assert (entry.actor, entry.action, entry.target) == (
        "dora",
        "profile restored",
        "profile:child",
    )
    assert json.loads(entry.detail) == {"keys": "language", "version": 1}
    with pytest.raises(NotKnown, match="no version 9"):
        await profiles.restore("child", 9, "dora")
    with pytest.raises(NotKnown, match="no profile 'other'"):
        await profiles.versions("other")
    with pytest.raises(RegistryError, match="not free"):
        await profiles.put("schema", {}, "me")
    await database.close()


async def test_a_bounded_number_is_kept(make: Make) -> None:
    database = await opened(make)
    profiles = DeviceRepository(database).profiles
    for number in range(MAX_VERSIONS + 3):
        await profiles.put("busy", {"place": str(number)}, "me")
    found = await profiles.versions("busy")
    assert [each.version for each in found] == list(range(MAX_VERSIONS + 3, 3, -1))
    with pytest.raises(NotKnown, match="not any more"):
        await profiles.restore("busy", 3, "me")
    await database.close()


async def test_removed_profiles_are_bounded_too(make: Make) -> None:
    database = await opened(make)
    now = iter(range(1_000, 9_000))
    profiles = DeviceRepository(database, lambda: next(now)).profiles
    await profiles.put("stays", {}, "me")
    for number in range(MAX_REMOVED + 1):
        await profiles.put(f"p{number}", {}, "me")
        await profiles.remove(f"p{number}", "me")
    names = await profiles.removed()
    assert (len(names), names[0], names[-1]) == (MAX_REMOVED, f"p{MAX_REMOVED}", "p1")
    with pytest.raises(NotKnown):
        await profiles.versions("p0")
    assert len(await profiles.versions("stays")) == 1
    await database.close()


async def test_writers_at_the_same_time_have_versions_of_their_own(make: Make) -> None:
    databases = [await opened(make) for _ in range(2)]
    repositories = [DeviceRepository(each).profiles for each in databases]
    await asyncio.gather(
        *(repositories[n % 2].put("child", {"place": str(n)}, f"writer {n}") for n in range(8))
    )
    found = await repositories[0].versions("child")
    assert [each.version for each in found] == list(range(8, 0, -1))
    assert {each.actor for each in found} == {f"writer {n}" for n in range(8)}
    assert (await repositories[1].find("child")).content == found[0].content
    for database in databases:
        await database.close()


async def test_a_profile_from_before_there_were_versions_is_kept(make: Make) -> None:
    database = await opened(make)
    async with database.transaction() as transaction:  # as a backup of an earlier version has it
        await transaction.execute(
            "INSERT INTO profiles (name, content, changed_at) VALUES ('old', :content, 7)",
            content='{"user": "A"}',
        )
    profiles = DeviceRepository(database).profiles
    (only,) = await profiles.versions("old")
    assert (only.version, only.content, only.changed_at, only.actor) == (1, {"user": "A"}, 7, "")
    await profiles.put("old", {"user": "B"}, "me")
    assert [each.content for each in await profiles.versions("old")] == [
        {"user": "B"},
        {"user": "A"},
    ]
    await profiles.restore("old", 1, "me")
    assert (await profiles.find("old")).content == {"user": "A"}
    await database.close()
