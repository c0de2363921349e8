"""Docstrings, comments and documents point to what is there."""

from __future__ import annotations

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

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


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
        ROOT / "CHANGELOG.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").rglob("*.md")),
        ROOT / "firmware-test-client" / "README.md",
    ]


def test_links_of_documents_lead_somewhere() -> None:
    dead = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in documents()
        for target in LINK.findall(path.read_text(encoding="utf-8"))
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert dead == []


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
