"""Folders for a program of a test, in place of the user's, to see what it leaves there."""

from __future__ import annotations

import os
from pathlib import Path

from vixio.core.telemetry import SWITCHES

ROOT = Path(__file__).parents[2]


class PrivateHome:
    """``work``: where the program runs. ``environment``: what it is given, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self._home, self._state, self._data, self.work, temporary = (
            folder / name for name in ("home", "state", "data", "work", "tmp")
        )
        for each in (self._home, self._state, self._data, self.work, temporary):
            each.mkdir()
        packages = os.environ.get("PYTHONPATH", "")
        self.environment = {
            # No proxies, no keys, and none of the switches, which the program is to set.
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), packages))),
            "HOME": str(self._home),
            "XDG_STATE_HOME": str(self._state),
            "XDG_DATA_HOME": str(self._data),
            "TMPDIR": str(temporary),
        }
        assert not SWITCHES.keys() & self.environment.keys()

    def unexpected(self) -> list[str]:
        """Return what lies in the folders, except in Vixio's own."""
        found = [path.name for each in (self._state, self._data) for path in each.iterdir()]
        return [
            *(name for name in found if name != "vixio"),
            *(str(path.relative_to(self._home)) for path in self._home.rglob("*")),
        ]
