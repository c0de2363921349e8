from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from tests.support import firmware_images as images
from tests.unit.data.devices.firmware.conftest import BOARD, DEVICE, House
from vixio.core.metrics import Counters
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.devices.firmware.attempts import AttemptState
from vixio.data.devices.firmware.errors import FirmwareError
from vixio.data.devices.firmware.folder import FirmwareFolder
from vixio.data.devices.firmware.offer import MAX_FAILURES, Stated
from vixio.data.devices.firmware.service import FirmwareService
from vixio.data.devices.firmware.tables import ATTEMPTS_KEPT

OTHER = "aa:bb:cc:00:00:02"


async def test_an_image_that_is_not_released_is_offered_to_no_device(house: House) -> None:
    await house.add()
    async with house.serving() as service:
        assert await house.ask(service) is None
        await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
        offered = await house.ask(service)
    assert offered is not None
    assert (offered.version, offered.forced, offered.size) == (
        "2.4.2",
        False,
        len(images.application()),
    )


async def test_the_way_of_an_update_is_on_record(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await house.add()
    await house.manager.release(BOARD, "2.4.2", "cli", devices=["AA-BB-CC-00-00-01"])
    async with house.serving() as service:
        offered = await house.ask(service)
        assert offered is not None
        assert (await house.manager.attempts())[0] == offered
        house.time += 10
        service.note(offered.id, DEVICE, AttemptState.DOWNLOADING, 0)
        started = await house.until(lambda each: each.started_at is not None)
        assert (started.state, started.started_at) == (AttemptState.DOWNLOADING, house.time)
        house.time += 500
        service.note(offered.id, DEVICE, AttemptState.DOWNLOADED, offered.size)
        done = await house.until(lambda each: each.finished_at is not None)
        assert (done.state, done.sent) == (AttemptState.DOWNLOADED, offered.size)
        assert done.started_at == house.time - 500
        assert await house.ask(service, "2.4.2") is None
    (ended,) = await house.manager.attempts(device_id=DEVICE)
    assert (ended.state, ended.ended_at) == (AttemptState.INSTALLED, house.time)
    (listed,) = await house.manager.listing()
    assert listed.counts == {"installed": 1}
    said = [each for each in caplog.records if each.message.startswith("firmware")]
    assert [each.message for each in said] == ["firmware offered", "firmware update ended"]
    assert said[1].__dict__["state"] == "installed"
    assert house.counters.get("firmware.installed") == 1


async def test_what_is_not_written_yet_counts_when_the_device_is_back(house: House) -> None:
    await house.add()
    await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    async with house.serving() as service:
        offered = await house.ask(service)
        assert offered is not None
        service.note(offered.id, DEVICE, AttemptState.DOWNLOADING, 200)
        await house.ask(service)
        newest, ended = await house.manager.attempts()
        assert ended.reason == f"the download broke off after 200 of {offered.size} bytes"
        assert newest.state is AttemptState.OFFERED


async def test_a_late_note_changes_only_figures_of_what_has_ended(house: House) -> None:
    await house.add()
    await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    async with house.serving() as service:
        offered = await house.ask(service)
        assert offered is not None
        await house.ask(service, "2.4.2")
        service.note(offered.id, DEVICE, AttemptState.FAILED, 10, "late")
        service.note(offered.id + 1, DEVICE, AttemptState.FAILED, 10, "of none")
    (attempt,) = await house.manager.attempts()
    assert (attempt.state, attempt.reason, attempt.sent) == (AttemptState.INSTALLED, "", 10)


async def test_what_broke_off_and_what_was_put_off_is_on_record(house: House) -> None:
    await house.add()
    await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    async with house.serving() as service:
        first = await house.ask(service)
        assert first is not None
        service.note(first.id, DEVICE, AttemptState.FAILED, 700)
        broken = await house.until(lambda each: each.state is AttemptState.FAILED)
        assert broken.reason == f"the download broke off after 700 of {first.size} bytes"
        for _ in range(MAX_FAILURES + 1):
            again = await house.ask(service)
            assert again is not None
            service.note(again.id, DEVICE, AttemptState.POSTPONED, 0, "too many downloads")
        put_off = await house.until(lambda each: each.state is AttemptState.POSTPONED)
        assert (put_off.reason, put_off.started_at) == ("too many downloads", None)


async def test_an_image_that_fails_is_given_up_and_can_be_tried_again(house: House) -> None:
    await house.add()
    await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    async with house.serving() as service:
        for _ in range(MAX_FAILURES):
            assert await house.ask(service) is not None
        assert await house.ask(service) is None
        await house.manager.release(BOARD, "2.4.2", "cli", percent=50, devices=[DEVICE])
        assert await house.ask(service) is None
        await house.manager.release(BOARD, "2.4.2", "cli", devices=[DEVICE], retry=True)
        assert await house.ask(service) is not None


async def test_a_forced_release_is_offered_once(house: House) -> None:
    await house.add("2.3.0")
    await house.manager.release(BOARD, "2.3.0", "cli", percent=100, force=True)
    async with house.serving() as service:
        offered = await house.ask(service, "2.4.1")
        assert offered is not None
        assert offered.forced
        assert await house.ask(service, "2.3.0") is None  # it is installed
        assert await house.ask(service, "2.4.1") is None  # the user went back by cable
        await house.manager.release(BOARD, "2.3.0", "cli", percent=100, force=True)
        assert await house.ask(service, "2.4.1") is not None


async def test_nothing_is_offered_before_the_new_image_is_confirmed(house: House) -> None:
    for version in ("2.4.2", "2.4.3"):
        await house.add(version)
        await house.manager.release(BOARD, version, "cli", percent=100)
        async with house.serving() as service:
            offered = await house.ask(service)
            assert offered is not None
            assert offered.version == version
    async with house.serving() as service:
        await house.manager.pause(BOARD, "2.4.3", "cli", paused=True)
        await house.ask(service)
        await house.manager.pause(BOARD, "2.4.3", "cli", paused=False)
        assert await house.ask(service, "2.4.2") is None
        assert await house.ask(service, "2.4.2") is not None


async def test_a_paused_or_removed_release_is_not_offered(house: House) -> None:
    await house.add()
    await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    await house.manager.pause(BOARD, "2.4.2", "cli", paused=True)
    async with house.serving() as service:
        assert await house.ask(service) is None
        await house.manager.pause(BOARD, "2.4.2", "cli", paused=False)
        assert await house.ask(service) is not None
        await house.manager.remove(BOARD, "2.4.2", "cli")
        assert await house.ask(service) is None


async def test_a_release_whose_image_is_not_here_is_not_offered(house: House) -> None:
    await house.add()
    record = await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    await house.folder.remove(BOARD, "2.4.2")
    async with house.serving() as service:
        assert await house.ask(service) is None
    (listed,) = await house.manager.listing()
    assert (listed.stored, listed.record) == (None, record)


async def test_a_device_that_is_not_registered_gets_nothing(house: House) -> None:
    await house.add()
    await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    async with house.serving() as service:
        assert await house.ask(service, device=OTHER) is None
        await house.register(OTHER)
        assert await house.ask(service, device=OTHER) is not None


async def test_a_forgotten_device_leaves_no_attempts(house: House) -> None:
    await house.add()
    await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    async with house.serving() as service:
        assert await house.ask(service) is not None
        async with house.database.transaction() as transaction:
            await transaction.execute("DELETE FROM devices WHERE id = :id", id=DEVICE)
    assert await house.manager.attempts() == []


async def test_old_attempts_go_but_not_those_with_force(house: House) -> None:
    await house.add("2.3.0")
    await house.manager.release(BOARD, "2.3.0", "cli", percent=100, force=True)
    async with house.serving() as service:
        assert await house.ask(service) is not None
        await house.add("2.4.2")
        for _ in range(ATTEMPTS_KEPT + 5):
            await house.manager.release(BOARD, "2.4.2", "cli", percent=100, retry=True)
            assert await house.ask(service) is not None
    attempts = await house.manager.attempts(limit=1_000)
    assert len(attempts) == ATTEMPTS_KEPT + 1
    assert attempts[-1].forced


async def test_without_a_database_nothing_is_offered(tmp_path: Path) -> None:
    def broken() -> Database:
        raise OSError("no database")

    link: Link[Database] = Link(broken, name="test-firmware")
    counters = Counters()
    service = FirmwareService(link, FirmwareFolder(tmp_path), counters)
    stated = Stated(device_id=DEVICE, board=BOARD, chip="esp32s3", version="2.4.1")
    assert await service.offer(stated) is None
    service.note(1, DEVICE, AttemptState.DOWNLOADING, 0)
    await asyncio.wait_for(service.stop(), 30)
    await link.close()
    assert counters.get("firmware.offline_visits") == 1


async def test_an_image_for_another_chip_than_the_boards_is_refused(house: House) -> None:
    async with house.database.transaction() as transaction:
        await transaction.execute(
            "UPDATE devices SET board = :board, chip = 'esp32c3' WHERE id = :id",
            board=BOARD,
            id=DEVICE,
        )
    with pytest.raises(
        FirmwareError, match=f"chip esp32s3; devices with the board {BOARD} have esp32c3"
    ):
        await house.add()
    assert await house.folder.all() == []
    await house.add(chip_id=5)
    await house.add(board="another-board")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "--percent or --device"),
        ({"percent": 101}, "from 0 to 100"),
        ({"percent": float("nan")}, "from 0 to 100"),
        ({"devices": [""]}, "none empty"),
    ],
)
async def test_a_release_for_no_device_is_refused(
    house: House, options: dict[str, object], words: str
) -> None:
    await house.add()
    with pytest.raises(FirmwareError, match=words):
        await house.manager.release(BOARD, "2.4.2", "cli", **options)  # type: ignore[arg-type]


async def test_what_is_not_there_cannot_be_changed(house: House) -> None:
    with pytest.raises(FirmwareError, match="there is no firmware"):
        await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    with pytest.raises(FirmwareError, match="is not released"):
        await house.manager.pause(BOARD, "2.4.2", "cli", paused=True)
    with pytest.raises(FirmwareError, match="there is no firmware"):
        await house.manager.remove(BOARD, "2.4.2", "cli")
    with pytest.raises(FirmwareError, match="`vixio firmware list`"):
        await house.manager.find("2.4.2")


async def test_a_version_of_several_boards_needs_the_board(house: House) -> None:
    await house.add()
    assert (await house.manager.find("2.4.2")).board == BOARD
    await house.add(board="another-board")
    with pytest.raises(FirmwareError, match=f"another-board, {BOARD}: say which"):
        await house.manager.find("2.4.2")
    assert (await house.manager.find("2.4.2", "another-board")).board == "another-board"


async def test_every_change_is_in_the_audit_trail(house: House) -> None:
    await house.add()
    await house.manager.release(BOARD, "2.4.2", "ann", percent=10)
    await house.manager.pause(BOARD, "2.4.2", "ann", paused=True)
    await house.manager.pause(BOARD, "2.4.2", "ann", paused=False)
    await house.manager.remove(BOARD, "2.4.2", "bob")
    async with house.database.transaction(write=False) as transaction:
        rows = await transaction.fetch("SELECT * FROM audit ORDER BY id")
    assert [(row["actor"], row["action"]) for row in rows] == [
        ("cli", "added"),
        ("ann", "released"),
        ("ann", "paused"),
        ("ann", "resumed"),
        ("bob", "withdrawn"),
        ("bob", "removed"),
    ]
    assert {row["target"] for row in rows} == {f"firmware:{BOARD}/2.4.2"}


async def test_an_id_of_a_release_is_never_used_again(house: House) -> None:
    await house.add()
    first = await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    async with house.serving() as service:
        assert await house.ask(service) is not None
    await house.manager.remove(BOARD, "2.4.2", "cli")
    await house.add()
    second = await house.manager.release(BOARD, "2.4.2", "cli", percent=100)
    assert second.release.id > first.release.id
