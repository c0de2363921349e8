from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import firmware_images as images
from vixio.data.devices.firmware.errors import FirmwareError
from vixio.data.devices.firmware.folder import FirmwareFolder, is_board

BOARD = "bread-compact-wifi"


@pytest.fixture
def folder(tmp_path: Path) -> FirmwareFolder:
    return FirmwareFolder(tmp_path / "data" / "firmware")


def build(tmp_path: Path, data: bytes | None = None) -> Path:
    file = tmp_path / "build.bin"
    file.write_bytes(images.application() if data is None else data)
    return file


def names(folder: FirmwareFolder) -> list[str]:
    found = folder.root.rglob("*") if folder.root.exists() else ()
    return sorted(path.relative_to(folder.root).as_posix() for path in found)


async def test_an_added_image_lies_by_board_and_version(
    folder: FirmwareFolder, tmp_path: Path
) -> None:
    stored = await folder.add(build(tmp_path))
    assert (stored.board, stored.version) == (BOARD, "2.4.2")
    assert names(folder) == [BOARD, f"{BOARD}/2.4.2", f"{BOARD}/2.4.2/xiaozhi.bin"]
    assert stored.path.read_bytes() == images.application()
    with folder.open(BOARD, "2.4.2") as file:
        assert file.read() == images.application()
    assert await folder.get(BOARD, "2.4.2") == stored
    assert await folder.all() == [stored]


async def test_only_the_owner_may_read_it(folder: FirmwareFolder, tmp_path: Path) -> None:
    stored = await folder.add(build(tmp_path))
    assert stored.path.stat().st_mode & 0o777 == 0o600
    for each in (stored.path.parent, stored.path.parent.parent, folder.root):
        assert each.stat().st_mode & 0o777 == 0o700


async def test_the_board_is_compared_with_the_image(folder: FirmwareFolder, tmp_path: Path) -> None:
    file = build(tmp_path)
    with pytest.raises(FirmwareError) as caught:
        await folder.add(file, "another-board")
    assert str(caught.value) == f"{file}: it is for the board {BOARD}, not another-board"
    with pytest.raises(FirmwareError, match="names no board"):
        await folder.add(build(tmp_path, images.application(constants=b"\0")))
    unclear = build(tmp_path, images.application(constants=b"\0one-board/\0another/\0"))
    with pytest.raises(FirmwareError, match="one-board or another: say --board"):
        await folder.add(unclear)
    assert (await folder.add(unclear, "another")).board == "another"
    assert names(folder) == ["another", "another/2.4.2", "another/2.4.2/xiaozhi.bin"]


@pytest.mark.parametrize("data", [images.merged(images.application()), b"", b"\xe9" * 4000])
async def test_nothing_stays_of_a_refused_file(
    folder: FirmwareFolder, tmp_path: Path, data: bytes
) -> None:
    with pytest.raises(FirmwareError):
        await folder.add(build(tmp_path, data))
    assert names(folder) == []


async def test_a_huge_file_is_not_copied_whole(folder: FirmwareFolder, tmp_path: Path) -> None:
    file = tmp_path / "huge.bin"
    with file.open("wb") as sparse:
        sparse.truncate(40 * 1024**3)
    with pytest.raises(FirmwareError, match="more than any device can take"):
        await folder.add(file)
    assert names(folder) == []


async def test_the_same_image_may_be_added_again_but_no_other(
    folder: FirmwareFolder, tmp_path: Path
) -> None:
    first = await folder.add(build(tmp_path))
    assert await folder.add(build(tmp_path)) == first
    with pytest.raises(FirmwareError, match="there already with other content"):
        await folder.add(build(tmp_path, images.application(code=b"other")))
    assert first.path.read_bytes() == images.application()
    assert len(names(folder)) == 3


async def test_several_at_once_leave_one(folder: FirmwareFolder, tmp_path: Path) -> None:
    file = build(tmp_path)
    found = await asyncio.gather(*(folder.add(file) for _ in range(8)))
    assert len(set(found)) == 1
    assert len(names(folder)) == 3


async def test_the_newest_comes_last(folder: FirmwareFolder, tmp_path: Path) -> None:
    for version in ("2.10.0", "2.9.1", "2.9"):
        await folder.add(build(tmp_path, images.application(version)))
    assert [each.version for each in await folder.all()] == ["2.9", "2.9.1", "2.10.0"]


async def test_an_image_copied_by_hand_is_as_good_or_says_what_is_wrong(
    folder: FirmwareFolder,
) -> None:
    for place, data in {
        f"{BOARD}/2.4.2": images.application(),
        f"{BOARD}/2.4.3": images.application(),
        "other-board/2.4.2": images.application(),
        f"{BOARD}/2.5": images.merged(images.application()),
        f"{BOARD}/latest": images.application(),
        ".hidden/2.4.2": images.application(),
    }.items():
        (folder.root / place).mkdir(parents=True)
        (folder.root / place / "xiaozhi.bin").write_bytes(data)
    faults = {(each.board, each.version): each.fault for each in await folder.all()}
    assert faults.pop((BOARD, "2.4.2")) == ""
    assert faults.pop((BOARD, "2.4.3")) == "it is version 2.4.2"
    assert faults.pop((BOARD, "2.5")).startswith("it is a merged-binary")
    assert faults.pop(("other-board", "2.4.2")) == f"it is for the board {BOARD}, not other-board"
    assert faults == {}
    with pytest.raises(FirmwareError, match=r"it is version 2\.4\.2"):
        await folder.get(BOARD, "2.4.3")


async def test_a_removed_image_leaves_nothing(folder: FirmwareFolder, tmp_path: Path) -> None:
    await folder.add(build(tmp_path))
    with folder.open(BOARD, "2.4.2") as file:
        await folder.remove(BOARD, "2.4.2")
        assert file.read() == images.application()  # as a download that has begun
    assert names(folder) == []
    for missing in (folder.remove(BOARD, "2.4.2"), folder.get(BOARD, "2.4.2")):
        with pytest.raises(FirmwareError, match=r"there is no firmware '2\.4\.2'"):
            await missing


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a\\b", "a..b", "../x", "-x", ".x", "a\0", "a\n", "é", "a" * 65]
)
async def test_a_name_that_is_no_boards_becomes_no_path(
    folder: FirmwareFolder, tmp_path: Path, name: str
) -> None:
    assert not is_board(name)
    with pytest.raises(FirmwareError, match="there is no firmware"):
        folder.open(name, "2.4.2")
    with pytest.raises(FirmwareError, match="there is no firmware"):
        folder.open(BOARD, name)
    if name:
        with pytest.raises(FirmwareError, match="cannot be the name of a board"):
            await folder.add(build(tmp_path), name)


@given(board=st.text(max_size=40), version=st.text(max_size=40))
def test_no_name_leads_out_of_the_folder(
    tmp_path_factory: pytest.TempPathFactory, board: str, version: str
) -> None:
    with pytest.raises(FirmwareError):
        FirmwareFolder(tmp_path_factory.getbasetemp() / "none").open(board, version)


@pytest.mark.parametrize("part", ["", "2.4.2", "2.4.2/xiaozhi.bin"])
async def test_no_symbolic_link_is_followed(
    folder: FirmwareFolder, tmp_path: Path, part: str
) -> None:
    outside = tmp_path / "outside" / "2.4.2"
    outside.mkdir(parents=True)
    (outside / "xiaozhi.bin").write_bytes(images.application())
    link = folder.root / BOARD / part
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "outside" / part)
    assert (folder.root / BOARD / "2.4.2" / "xiaozhi.bin").is_file()
    with pytest.raises(FirmwareError, match="symbolic link"):
        folder.open(BOARD, "2.4.2")
    with pytest.raises(FirmwareError, match="symbolic link"):
        await folder.remove(BOARD, "2.4.2")
    with pytest.raises(FirmwareError, match=r"symbolic link|already"):
        await folder.add(build(tmp_path))
    assert (outside / "xiaozhi.bin").read_bytes() == images.application()
    assert [each.fault for each in await folder.all() if "symbolic" not in each.fault] == []


async def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FirmwareError, match="cannot write"):
        await FirmwareFolder(tmp_path / "file" / "firmware").add(build(tmp_path))
