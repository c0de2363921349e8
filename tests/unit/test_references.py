"""Docstrings, comments and documents point to what is there."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from scripts.chinese_pages import sections
from tests.support.references import UNKNOWN_DOCUMENT, Reference, Sources, references

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = {
    "vixio": ROOT / "vixio",
    "firmware_test_client": ROOT / "firmware-test-client" / "firmware_test_client",
    "tests": ROOT / "tests",
}

ELSEWHERE = {"runtime/docs/websocket_protocol.md"}
"""Documents of other projects, which the text names."""

NO_MODULES = {"vixio.yaml"}
"""Set like a module, and none."""

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def entry_point_groups() -> set[str]:
    """Return the groups in which packages publish plug-ins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        *project.get("entry-points", {}),
        "vixio.providers",
        "vixio.tools",
        "vixio.tool_sources",
    }


@pytest.fixture(scope="module")
def sources() -> Sources:
    """The packages, read once for all tests."""
    return Sources(PACKAGES)


def dangling(found: Iterable[Reference], sources: Sources) -> Iterator[str]:
    """Yield what prose in the source points to and which is not there."""
    groups = entry_point_groups()
    for it in found:
        target = it.target
        match it.kind:
            case "role":
                there = sources.knows(target, it.module, it.owner)
            case "dotted":
                there = sources.knows(target) or target in groups | NO_MODULES
            case "document":
                near = (ROOT / target, it.path.parent / target, it.path.parents[1] / target)
                there = target in ELSEWHERE or any(place.exists() for place in near)
            case _:
                there = False
        if not there:
            yield f"{it.path.relative_to(ROOT)}:{it.line}: {target}"


@pytest.mark.slow
def test_docstrings_point_to_what_is_there(sources: Sources) -> None:
    assert len(sources.references) > 100
    assert list(dangling(sources.references, sources)) == []


@pytest.mark.slow
def test_what_points_nowhere_is_found(sources: Sources) -> None:
    path = ROOT / "vixio" / "core" / "planted.py"
    text = """
class Pacer:
    def stop(self):
        try:
            pass
        finally:
            "See :meth:`stop`, :meth:`gone` and ``vixio.core.gone``."


x = 1  # see docs/gone.md and PLAN §3, and docs/architecture.md
"""
    found = references("vixio.core.pacer", path, text, ast.parse(text))
    assert list(dangling(found, sources)) == [
        "vixio/core/planted.py:7: gone",
        "vixio/core/planted.py:7: vixio.core.gone",
        "vixio/core/planted.py:10: docs/gone.md",
        "vixio/core/planted.py:10: PLAN",
    ]


def documents() -> list[Path]:
    """Return the documents of the repository."""
    return [
        ROOT / "README.md",
        ROOT / "README.zh.md",
        ROOT / "CHANGELOG.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").rglob("*.md")),
        ROOT / "firmware-test-client" / "README.md",
    ]


def dead_links(path: Path) -> Iterator[str]:
    """Yield the links of a document to files or headings that do not exist."""
    for target, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        page = path.parent / target if target else path
        if not page.exists():
            yield target
        elif anchor and anchor not in sections(page.read_text(encoding="utf-8")):
            yield f"{target}#{anchor}"


def test_links_of_documents_lead_somewhere() -> None:
    assert {path: dead for path in documents() if (dead := list(dead_links(path)))} == {}


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `two.three`\n```\n# none\n```\n## Four\n## Four\n"
        "[a](#one-twothree) [b](page.md#four-1) [c](https://a.example/b#c) [d](page.md)\n"
        "[e](#none) [f](page.md#four-2) [g](gone.md#four) [h](gone.md)\n",
        encoding="utf-8",
    )
    assert list(dead_links(page)) == ["#none", "page.md#four-2", "gone.md", "gone.md"]


@pytest.mark.slow
def test_a_name_that_is_gone_is_found(sources: Sources) -> None:
    assert sources.knows("vixio.core.chunk.AudioIn")
    assert sources.knows("vixio.core.pacer.Pacer.stop")
    assert sources.knows("Pacer.stop", "vixio.core.pacer")
    assert sources.knows("stop", "vixio.core.pacer", "Pacer")
    assert sources.knows("asyncio.TaskGroup")
    assert not sources.knows("vixio.core.chunk.Gone")
    assert not sources.knows("vixio.core.gone")
    assert not sources.knows("vixio.core.pacer.Pacer.gone")
    assert not sources.knows("gone", "vixio.core.pacer", "Pacer")
    assert not sources.knows("core.pacer.Pacer")
    assert UNKNOWN_DOCUMENT.findall("see PROTOCOL §4") == ["PROTOCOL"]
    assert UNKNOWN_DOCUMENT.findall("RFC 6455 §10.2") == []
