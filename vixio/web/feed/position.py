"""How far a watcher has come: the number of the last entry of each source."""

from __future__ import annotations

import re
from typing import Final

_MAX_SOURCES: Final = 100
_TEXT: Final = re.compile(r"[a-z0-9]{1,16}:[0-9]{1,15}(\.[a-z0-9]{1,16}:[0-9]{1,15})*", re.ASCII)

Position = dict[str, int]


def dump(position: Position) -> str:
    """Return it as the id of an event: ``SOURCE:NUMBER.SOURCE:NUMBER``."""
    return ".".join(f"{source}:{number}" for source, number in position.items())


def parse(text: str) -> Position:
    """Read an id. Raises ValueError."""
    if not _TEXT.fullmatch(text) or text.count(".") >= _MAX_SOURCES:
        raise ValueError("this is no id of an event of this stream")
    parts = (part.split(":") for part in text.split("."))
    return {source: int(number) for source, number in parts}
