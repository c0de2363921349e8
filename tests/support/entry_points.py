"""Distributions with entry points on the import path, as pip leaves them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vixio.core import plugins


class Installed:
    """A site directory that takes distributions."""

    def __init__(self, site: Path, group: str) -> None:
        self._site = site
        self._group = group

    def add(self, distribution: str, **points: str) -> None:
        """Install a distribution; ``points``: ``name="module:attribute"``, ``__`` for a dot."""
        info = self._site / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8"
        )
        lines = [f"{name.replace('__', '.')} = {value}" for name, value in points.items()]
        info.joinpath("entry_points.txt").write_text(
            "\n".join([f"[{self._group}]", *lines]), encoding="utf-8"
        )


@contextmanager
def site_of(path: Path, group: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    """Put an empty site directory on the path; forget afterwards what was found in it."""
    monkeypatch.syspath_prepend(str(path))
    plugins.installed.cache_clear()
    try:
        yield Installed(path, group)
    finally:
        plugins.installed.cache_clear()
