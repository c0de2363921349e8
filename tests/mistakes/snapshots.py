"""The files in which the messages are kept."""

from __future__ import annotations

import re
from pathlib import Path

from tests.mistakes.groups import GROUPS
from tests.mistakes.kit import HEADING, make, shown

FOLDER = Path(__file__).parent / "snapshots"


def path_of(group: str) -> Path:
    """Return the snapshot file of a group."""
    return FOLDER / f"{group}.txt"


def taken(group: str) -> str:
    """Make every mistake of a group; return the text of its snapshot."""
    return "\n".join(shown(each, make(each)) for each in GROUPS[group])


def kept(group: str) -> dict[str, str]:
    """Return the snapshots of a group's mistakes, by name."""
    text = path_of(group).read_text(encoding="utf-8")
    starts = [match.start() for match in re.finditer(HEADING, text, re.MULTILINE)]
    parts = [
        text[start:end].rstrip("\n") + "\n"
        for start, end in zip(starts, [*starts[1:], None], strict=True)
    ]
    return {part.splitlines()[0].strip("─ "): part for part in parts}
