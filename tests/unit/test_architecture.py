"""The package table of docs/architecture.md is what the folders are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "architecture.md"

NO_PACKAGES = {"__pycache__", "py.typed"}


DIVIDED = ("vixio/cluster", "vixio/core", "vixio/transports")
"""Packages whose own packages the table lists, in rows or as `name/` in the column "holds"."""


def rows(text: str) -> list[tuple[list[str], str]]:
    """Return the rows of the package table: the paths, and what they hold."""
    lines = text.splitlines()
    start = lines.index("| package | holds | may import |") + 2
    found: list[tuple[list[str], str]] = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        _, names, holds, *_ = line.split("|")
        found.append((re.findall(r"`([^`]+)`", names), holds))
    return found


def listed_packages(text: str) -> list[str]:
    """Return the paths in the first column of the package table."""
    return [package for names, _ in rows(text) for package in names]


def packages(text: str) -> set[str]:
    """Return the packages of the table, and the `name/` that it names in them."""
    return {
        path
        for names, holds in rows(text)
        for package in names
        for path in (package, *(f"{package}/{name}" for name in re.findall(r"`(\w+)/`", holds)))
    }


def top_level() -> set[str]:
    """Return the packages and modules right below ``vixio``.

    Without folders that hold nothing but bytecode, which stays where a package was moved.
    """
    return {
        f"vixio/{entry.name}"
        for entry in (ROOT / "vixio").iterdir()
        if entry.name not in NO_PACKAGES
        and (entry.is_file() or any(f.suffix != ".pyc" for f in entry.rglob("*") if f.is_file()))
    }


def test_every_row_of_the_table_is_there() -> None:
    listed = listed_packages(DOCUMENT.read_text(encoding="utf-8"))
    assert listed
    assert len(set(listed)) == len(listed)
    assert [package for package in listed if not (ROOT / package).exists()] == []


def test_every_folder_is_in_the_table() -> None:
    listed = listed_packages(DOCUMENT.read_text(encoding="utf-8"))
    covered = {"/".join(package.split("/")[:2]) for package in listed}
    assert top_level() - covered == set()


def test_every_package_of_the_table_is_there() -> None:
    listed = packages(DOCUMENT.read_text(encoding="utf-8"))
    assert {"vixio/web/http/routes", "vixio/transports/xiaozhi/websocket"} <= listed
    assert [path for path in sorted(listed) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("package", DIVIDED)
def test_every_part_of_a_divided_package_is_in_the_table(package: str) -> None:
    there = {
        init.parent.relative_to(ROOT).as_posix()
        for init in (ROOT / package).glob("*/**/__init__.py")
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
