"""Docstrings, comments and documents point to what is there."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.support.references import (
    DOCUMENT,
    DOTTED,
    ROLE,
    UNKNOWN_DOCUMENT,
    Sources,
    prose,
)

ROOT = Path(__file__).resolve().parents[2]

SOURCES = Sources(
    {
        "vixio": ROOT / "vixio",
        "firmware_test_client": ROOT / "firmware-test-client" / "firmware_test_client",
        "tests": ROOT / "tests",
    }
)

ELSEWHERE = {"runtime/docs/websocket_protocol.md"}
"""Documents of other projects, which the text names."""

NO_MODULES = {"vixio.yaml"}
"""Set like a module, and none."""

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def entry_point_groups() -> set[str]:
    """Return the groups in which packages publish plug-ins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        *project.get("entry-points", {}),
        "vixio.providers",
        "vixio.tools",
        "vixio.tool_sources",
    }


def dangling() -> Iterator[str]:
    """Yield what prose in the source points to and which is not there."""
    groups = entry_point_groups()
    for module, (path, tree) in SOURCES.trees.items():
        where = path.relative_to(ROOT)
        for line, owner, text in prose(path, tree):
            for target in ROLE.findall(text):
                if not SOURCES.knows(target, module, owner):
                    yield f"{where}:{line}: {target}"
            for target in DOTTED.findall(text):
                if not SOURCES.knows(target) and target not in groups | NO_MODULES:
                    yield f"{where}:{line}: {target}"
            for target in DOCUMENT.findall(text):
                near = (ROOT / target, path.parent / target, path.parents[1] / target)
                if target not in ELSEWHERE and not any(place.exists() for place in near):
                    yield f"{where}:{line}: {target}"
            for target in UNKNOWN_DOCUMENT.findall(text):
                yield f"{where}:{line}: {target}"


def test_docstrings_point_to_what_is_there() -> None:
    assert list(dangling()) == []


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


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a document."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCED.sub("", text)):
        base = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        repeats = (f"{base}-{number}" for number in itertools.count(1))
        found.add(next(each for each in itertools.chain([base], repeats) if each not in found))
    return found


def dead_links(path: Path) -> Iterator[str]:
    """Yield the links of a document to files or headings that do not exist."""
    for target, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        page = path.parent / target if target else path
        if not page.exists():
            yield target
        elif anchor and anchor not in anchors(page.read_text(encoding="utf-8")):
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


def test_a_name_that_is_gone_is_found() -> None:
    assert SOURCES.knows("vixio.core.chunk.AudioIn")
    assert SOURCES.knows("vixio.core.pacer.Pacer.stop")
    assert SOURCES.knows("Pacer.stop", "vixio.core.pacer")
    assert SOURCES.knows("stop", "vixio.core.pacer", "Pacer")
    assert SOURCES.knows("asyncio.TaskGroup")
    assert not SOURCES.knows("vixio.core.chunk.Gone")
    assert not SOURCES.knows("vixio.core.gone")
    assert not SOURCES.knows("vixio.core.pacer.Pacer.gone")
    assert not SOURCES.knows("gone", "vixio.core.pacer", "Pacer")
    assert not SOURCES.knows("core.pacer.Pacer")
    assert UNKNOWN_DOCUMENT.findall("see PROTOCOL §4") == ["PROTOCOL"]
    assert UNKNOWN_DOCUMENT.findall("RFC 6455 §10.2") == []
