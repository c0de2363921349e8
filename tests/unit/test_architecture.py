"""The room table of docs/architecture.md is what the folders are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "architecture.md"

NO_ROOMS = {"__pycache__", "py.typed"}


def rooms(text: str) -> list[str]:
    """Return the paths in the first column of the room table."""
    lines = text.splitlines()
    start = lines.index("| room | holds | may import |") + 2
    found: list[str] = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        found += re.findall(r"`([^`]+)`", line.split("|")[1])
    return found


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
