"""Access points: made, known to every process, revoked, and gone with their profile or device."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.registry_databases import Make
from vixio.core.tools.source import Scope
from vixio.data.backup.registry import dump, load
from vixio.data.database.database import Database
from vixio.data.devices.access_points import PREFIX, digest
from vixio.data.devices.records import RegistryError
from vixio.data.devices.registry_cache import RegistrySnapshot, read_changes
from vixio.data.devices.repository import DeviceRepository

DEVICE = "02:00:00:00:00:01"
OF_DEVICE, OF_PROFILE = Scope(device=DEVICE), Scope(profile="child")


Opened = tuple[DeviceRepository, "Known", Database]


class Known:
    """What a process that follows the database knows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.snapshot = RegistrySnapshot()

    async def look(self) -> dict[str, Scope]:
        news = await read_changes(self._database, self.snapshot.last, 0, sure=True)
        assert news is not None
        news.apply(self.snapshot)
        return dict(self.snapshot.access)


@pytest_asyncio.fixture
async def opened(make: Make) -> AsyncIterator[Opened]:
    database = make()
    await database.open()
    repository = DeviceRepository(database)
    await repository.add(DEVICE, "me")
    await repository.profiles.put("child", {}, "me")
    yield repository, Known(database), database
    await database.close()


async def test_every_process_knows_it_by_its_digest_and_nothing_holds_the_token(
    opened: Opened,
) -> None:
    repository, known, database = opened
    assert await known.look() == {}
    point, token = await repository.access_points.create(OF_PROFILE, "me")
    assert token.startswith(PREFIX)
    assert len(token) > 50
    assert await known.look() == {digest(token): OF_PROFILE}
    assert await Known(database).look() == {digest(token): OF_PROFILE}, "a process that starts"
    _, rows = await dump(database)
    assert rows["access_points"] == [
        {
            "digest": digest(token),
            "profile": "child",
            "device_id": None,
            "created_at": point.created_at,
            "created_by": "me",
        }
    ]
    assert token not in repr(rows)
    (made,) = [each for each in await repository.audit(9) if each.target.startswith("access")]
    assert (made.actor, made.action, made.target) == ("me", "access point made", made.target)
    assert made.target == "access:profile:child"


async def test_a_new_one_takes_the_place_of_the_old(opened: Opened) -> None:
    repository, known, _ = opened
    await repository.access_points.create(OF_DEVICE, "me")
    _, token = await repository.access_points.create(OF_DEVICE, "me")
    _, other = await repository.access_points.create(OF_PROFILE, "me")
    assert await known.look() == {digest(token): OF_DEVICE, digest(other): OF_PROFILE}
    await repository.access_points.revoke(OF_DEVICE, "me")
    assert await known.look() == {digest(other): OF_PROFILE}
    with pytest.raises(RegistryError, match=f"there is no access point of the device {DEVICE}"):
        await repository.access_points.revoke(OF_DEVICE, "me")


async def test_it_goes_with_its_profile_and_its_device(opened: Opened) -> None:
    repository, known, _ = opened
    await repository.access_points.create(OF_DEVICE, "me")
    await repository.access_points.create(OF_PROFILE, "me")
    assert len(await known.look()) == 2
    await repository.profiles.remove("child", "me")
    assert list((await known.look()).values()) == [OF_DEVICE]
    await repository.forget(DEVICE, "me")
    assert await known.look() == {}
    assert await repository.access_points.all() == []


async def test_there_is_none_for_what_is_not_there(opened: Opened) -> None:
    repository, _, _ = opened
    with pytest.raises(RegistryError, match="there is no profile 'adult'"):
        await repository.access_points.create(Scope(profile="adult"), "me")
    with pytest.raises(RegistryError, match="no device 'x' is known"):
        await repository.access_points.create(Scope(device="x"), "me")


async def test_a_backup_brings_it_back(opened: Opened, tmp_path: Path) -> None:
    repository, _, database = opened
    _, token = await repository.access_points.create(OF_PROFILE, "me")
    version, rows = await dump(database)
    from vixio.data.database.create import make_database

    other = make_database(tmp_path / "other", "")
    await other.open()
    await load(other, {**rows}, version)
    assert await Known(other).look() == {digest(token): OF_PROFILE}
    await other.close()
