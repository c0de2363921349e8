"""Command and environment of child processes that run a module of this package."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this interpreter."""
    return [sys.executable, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return this process's environment with its import path, whatever the working directory."""
    root = str(Path(__file__).parents[2])
    paths = dict.fromkeys([root, *(path for path in sys.path if path)])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
