"""``vixio firmware`` on a folder and a database of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support import firmware_images as images
from vixio.cli.commands import main
from vixio.data.database.create import make_database
from vixio.data.database.database import Database

BOARD = "bread-compact-wifi"
DEVICE = "02:00:00:00:00:01"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIXIO_CONFIG", raising=False)
    (tmp_path / "vixio.yaml").write_text("data: {folder: data}\n", encoding="utf-8")
    (tmp_path / "xiaozhi.bin").write_bytes(images.application())
    return tmp_path


def vixio(*arguments: str, status: int = 0) -> str:
    """Run `vixio firmware`; return what it writes, errors too."""
    done = CliRunner().invoke(main, ["firmware", *arguments])
    assert done.exit_code == status, done.output
    return done.output


def in_database(work: Callable[[Database], Awaitable[object]]) -> None:
    async def do() -> None:
        database = make_database(Path("data"), "")
        await database.open()
        await work(database)
        await database.close()

    asyncio.run(do())


def register(device_id: str, name: str = "", board: str = BOARD) -> None:
    async def add(database: Database) -> None:
        async with database.transaction() as transaction:
            await transaction.execute(
                "INSERT INTO devices (id, name, board, first_seen, last_seen) "
                "VALUES (:id, :name, :board, 0, 0)",
                id=device_id,
                name=name,
                board=board,
            )

    in_database(add)


def test_without_images_it_says_how_to_add_one() -> None:
    assert "vixio firmware add build/xiaozhi.bin" in vixio()
    assert vixio("--json").strip() == "[]"
    assert "no device was offered an update" in vixio("attempts")


def test_an_image_is_added_listed_shown_and_removed(place: Path) -> None:
    said = vixio("add", "xiaozhi.bin", "--board", BOARD)
    assert said.startswith(f"added 2.4.2 for {BOARD} (esp32s3, 1 KB)\n")
    assert f"no device with the board {BOARD} has been here yet" in said
    assert f"vixio firmware release 2.4.2 --board {BOARD} --percent 100" in said
    head, row = vixio("list").splitlines()
    assert head.split("  ")[0].strip() == "BOARD"
    assert row.split() == [BOARD, "2.4.2", "esp32s3", "1", "KB", "no", "device", "-"]
    shown = vixio("show", "2.4.2")
    assert str(Path("data/firmware") / BOARD / "2.4.2" / "xiaozhi.bin") in shown
    assert "Nov 23 2026 12:34:56, with ESP-IDF v5.5.1" in shown
    assert "16 MB" in shown
    assert vixio("remove", "2.4.2", "--yes") == f"removed 2.4.2 of {BOARD}\n"
    assert "there is no firmware" in vixio()


def test_what_devices_cannot_use_is_one_line_and_status_2(place: Path) -> None:
    (place / "merged-binary.bin").write_bytes(images.merged(images.application()))
    assert vixio("add", "merged-binary.bin", status=2) == (
        "vixio: merged-binary.bin: it is a merged-binary for flashing by cable; give the "
        "xiaozhi.bin of the build directory instead\n"
    )
    said = vixio("add", "xiaozhi.bin", "--board", "esp-box-3", status=2)
    assert said == f"vixio: xiaozhi.bin: it is for the board {BOARD}, not esp-box-3\n"
    assert "missing.bin: cannot read it: No such file" in vixio("add", "missing.bin", status=2)


def test_a_release_says_who_gets_it() -> None:
    vixio("add", "xiaozhi.bin")
    register(DEVICE, "Kitchen")
    assert vixio("release", "2.4.2", status=2).startswith("vixio: say which devices get it")
    said = vixio("release", "2.4.2", "--device", "kitchen", "--percent", "12.5")
    assert said == f"released 2.4.2 of {BOARD} to 12.5 % and 1 device\n"
    assert DEVICE in vixio("show", "2.4.2")
    assert vixio("pause", "2.4.2") == f"paused 2.4.2 of {BOARD}\n"
    assert "12.5 % and 1 device (paused)" in vixio()
    assert vixio("resume", "2.4.2") == f"resumed 2.4.2 of {BOARD}\n"
    vixio("release", "2.4.2", "--percent", "100", "--force")
    (listed,) = json.loads(vixio("list", "--json"))
    release = listed["release"]
    assert (release["percent"], release["devices"], release["forced"]) == (100, [], True)


def test_devices_of_a_release_are_looked_up() -> None:
    vixio("add", "xiaozhi.bin")
    register(DEVICE, "Kitchen", "esp-box-3")
    register("02:00:00:00:00:02", "Hall")
    register("02:00:00:00:00:03", "Hall")
    said = vixio("release", "2.4.2", "--device", "Kitchen", "--device", "02-00-00-00-00-09")
    assert f"{DEVICE} has the board esp-box-3: it is not offered this image" in said
    assert "02:00:00:00:00:09 has not been here yet" in said
    said = vixio("release", "2.4.2", "--device", "Cellar", status=2)
    assert said == "vixio: no device 'Cellar' is known: `vixio devices` lists them\n"
    assert "2 devices are called 'Hall'" in vixio("release", "2.4.2", "--device", "Hall", status=2)


def test_faults_of_released_images_stand_in_the_list(place: Path) -> None:
    vixio("add", "xiaozhi.bin")
    vixio("release", "2.4.2", "--percent", "100")
    file = place / "data" / "firmware" / BOARD / "2.4.2" / "xiaozhi.bin"
    file.write_bytes(images.application(code=b"another build"))
    assert "release it again" in vixio()
    file.write_bytes(b"nothing")
    assert "it is no ESP image" in vixio()
    file.unlink()
    assert "the file is gone" in vixio()
    assert vixio("remove", "2.4.2", "--yes") == f"removed 2.4.2 of {BOARD}\n"


def test_attempts_are_listed() -> None:
    vixio("add", "xiaozhi.bin")
    register(DEVICE, "Kitchen")

    async def attempt(database: Database) -> None:
        async with database.transaction() as transaction:
            await transaction.execute(
                "INSERT INTO firmware_attempts (id, device_id, release_id, board, version, sha256, "
                "elf_sha256, from_version, forced, state, reason, size, sent, offered_at) VALUES "
                "(1, :device, 1, :board, '2.4.2', '', '', '2.4.1', 1, 'downloading', '', 200, 50, "
                "1795449848903)",
                device=DEVICE,
                board=BOARD,
            )

    in_database(attempt)
    _, row = vixio("attempts", "--device", "kitchen").splitlines()
    for words in ("2026-11-23 ", DEVICE, "2.4.1", "2.4.2 (forced)", "downloading 25 %"):
        assert words in row
    (found,) = json.loads(vixio("attempts", "--json"))
    assert (found["device_id"], found["state"]) == (DEVICE, "downloading")
    assert "no device was offered" in vixio("attempts", "--version", "9.9")
    assert "1 downloading" in vixio()
