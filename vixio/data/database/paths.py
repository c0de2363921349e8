"""Files of the data folder: owner-only, and known by identity."""

from __future__ import annotations

import os
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its owner can enter; one that exists is left as it is.

    Raises OSError.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def state_folder() -> Path:
    """Return the user's folder for the state of Vixio: ``$XDG_STATE_HOME/vixio``."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # "All paths set in these environment variables must be absolute", else ignored (XDG 0.8).
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "vixio"
