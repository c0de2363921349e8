"""What a command is doing, on standard error: standard output is for its result alone."""

from __future__ import annotations

import shutil
import sys
from types import TracebackType
from typing import Self

import click

_FALLBACK_COLUMNS = 80


class StatusLine:
    """On a terminal one line that is written over; elsewhere a line for each change."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._shown = False

    def show(self, text: str) -> None:
        """Show what is going on now."""
        text = " ".join(text.split())
        if not self._live:
            click.echo(text, err=True)
            return
        columns = shutil.get_terminal_size((_FALLBACK_COLUMNS, 24)).columns
        # The end is what is new; a wide character takes two columns, so half of them fit for sure.
        room = columns - 1 if text.isascii() else (columns - 1) // 2
        shown = text if len(text) <= room else f"…{text[-(room - 1) :]}"
        click.echo(f"\r\x1b[K{shown}", err=True, nl=False)
        self._shown = True

    def line(self, text: str) -> None:
        """Write a line that stays."""
        self.clear()
        click.echo(text, err=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.clear()
