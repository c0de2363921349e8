"""The room table of docs/architecture.md is what the folders are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "architecture.md"

NO_ROOMS = {"__pycache__", "py.typed"}


DIVIDED = ("vixio/cluster", "vixio/core", "vixio/transports")
"""Rooms whose packages the table lists, as rooms or as `name/` in the column "holds"."""


def rows(text: str) -> list[tuple[list[str], str]]:
    """Return the rows of the room table: the rooms, and what they hold."""
    lines = text.splitlines()
    start = lines.index("| room | holds | may import |") + 2
    found: list[tuple[list[str], str]] = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        _, names, holds, *_ = line.split("|")
        found.append((re.findall(r"`([^`]+)`", names), holds))
    return found


def rooms(text: str) -> list[str]:
    """Return the paths in the first column of the room table."""
    return [room for names, _ in rows(text) for room in names]


def packages(text: str) -> set[str]:
    """Return the rooms of the table and the packages `name/` that it names in them."""
    return {
        path
        for names, holds in rows(text)
        for room in names
        for path in (room, *(f"{room}/{name}" for name in re.findall(r"`(\w+)/`", holds)))
    }


def top_level() -> set[str]:
    """Return the rooms of the package: its folders and loose files."""
    return {f"vixio/{entry.name}" for entry in (ROOT / "vixio").iterdir()} - {
        f"vixio/{name}" for name in NO_ROOMS
    }


def test_every_room_of_the_table_is_there() -> None:
    listed = rooms(DOCUMENT.read_text(encoding="utf-8"))
    assert listed
    assert len(set(listed)) == len(listed)
    assert [room for room in listed if not (ROOT / room).exists()] == []


def test_every_folder_is_in_the_table() -> None:
    listed = rooms(DOCUMENT.read_text(encoding="utf-8"))
    covered = {"/".join(room.split("/")[:2]) for room in listed}
    assert top_level() - covered == set()


def test_every_package_of_the_table_is_there() -> None:
    listed = packages(DOCUMENT.read_text(encoding="utf-8"))
    assert {"vixio/http/routes", "vixio/transports/xiaozhi/websocket"} <= listed
    assert [path for path in sorted(listed) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("room", DIVIDED)
def test_every_package_of_a_divided_room_is_in_the_table(room: str) -> None:
    there = {
        init.parent.relative_to(ROOT).as_posix() for init in (ROOT / room).glob("*/**/__init__.py")
    }
    assert there
    assert there - packages(DOCUMENT.read_text(encoding="utf-8")) == set()


def test_no_loose_files_but_the_face_the_root_and_the_entry_point() -> None:
    files = {entry.name for entry in (ROOT / "vixio").iterdir() if entry.suffix == ".py"}
    assert files == {"__init__.py", "__main__.py", "server.py"}


@pytest.mark.parametrize(
    "document", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name
)
def test_links_of_the_documents_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    assert [target for target in targets if not (document.parent / target).exists()] == []
