"""About how much memory the models of a provider take."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

_RUNTIME_MB: Final = 50
"""The inference library and its work space."""


def models_mb(files: Iterable[Path]) -> int:
    """Return the MB of a process that has loaded ``files``; one that is not there counts nothing.

    The weights are held as they stand in the files.
    """
    size = 0
    for path in files:
        try:
            size += path.stat().st_size
        except OSError:
            continue  # that a model is missing is said where it is loaded
    return _RUNTIME_MB + size // (1024 * 1024)
