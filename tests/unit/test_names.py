"""Classes are named by what they are, in the words of the field."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

RIDDLES = {
    *("Crew", "Desk", "Doubts", "Eyes", "Household", "Invitation", "Members", "Neighbours", "News"),
    *("Notes", "Pulse", "Senses", "Sight", "Slip", "Tenancy", "Told", "Visit", "Visitors", "Way"),
}
"""Names that say nothing of a repository, a detector of stalls, an OTA request, and so on."""


def classes(text: str) -> set[str]:
    """Return the names of the classes in a module."""
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}


def riddles(text: str) -> set[str]:
    """Return the classes whose name, or its last word, is one of those."""
    return {
        name
        for name in classes(text)
        if any(name == each or name.endswith(each) for each in RIDDLES)
    }


def test_no_class_has_a_riddle_for_a_name() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "vixio").rglob("*.py")
        for name in riddles(path.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_a_riddle_is_found() -> None:
    assert riddles("class ReminderDesk:\n    class Way: ...\nclass Lease: ...") == {
        *("ReminderDesk", "Way"),
    }
