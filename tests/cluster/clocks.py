"""Wall clocks of processes that are hours off and jump, by libfaketime.

Only the time of day is another one: clocks that measure durations go on as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cluster.fleet import Node

LIBRARIES = Path("/usr/lib")


class Clocks:
    """One for each node; right until it is set."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        found = sorted(LIBRARIES.glob("*/faketime/libfaketimeMT.so.1"))
        if not found:
            pytest.fail("faketime is not installed")
        self._library = found[0]
        for number in (1, 2, 3):
            self.set(number, timedelta(0))

    def set(self, number: int, ahead: timedelta) -> None:
        """Set the clock of a node, which may run; its process has the new time at once."""
        new = self._file(number).with_suffix(".new")
        new.write_text(f"{ahead.total_seconds():+.0f}", encoding="utf-8")
        new.replace(self._file(number))

    def environment(self, node: Node) -> Mapping[str, str]:
        """Return the environment of a node's process."""
        return {
            "LD_PRELOAD": str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file(node.number)),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            # Otherwise a wait of 5 ms for Python's lock, of which there are many in a process with
            # threads, ends at once, again and again: it takes all of the processor.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        }

    def _file(self, number: int) -> Path:
        return self._folder / f"clock{number}"
