"""The languages of eSpeak NG, from the data of its package: no library is loaded for them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

_LINE: Final = re.compile(rb"^language\s+([A-Za-z-]+)", re.MULTILINE)
_BEGINNING: Final = 1_000
"""Bytes of a file within which its languages stand."""


@cache
def packaged() -> frozenset[str]:
    """Return the tags of all voices; empty if the system's library is used. Blocking, 5 ms.

    A file of ``lang`` has a line ``language TAG`` for each of the voice's languages.
    """
    try:
        import espeakng_loader
    except ImportError:
        return frozenset()
    found: set[str] = set()
    for path in Path(espeakng_loader.get_data_path(), "lang").rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                beginning = file.read(_BEGINNING)
            found.update(tag.decode("ascii") for tag in _LINE.findall(beginning))
    return frozenset(found)
