"""The source does what every source does: the suite is Vixio's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from vixio_sheet.source import SheetSettings, SheetSource

from vixio import ToolSource
from vixio.testing.contract import ToolSourceContract
from vixio.tools.registry import SourceContext


class TestSheet(ToolSourceContract):
    @pytest.fixture(autouse=True)
    def sheet(self, tmp_path: Path) -> None:
        """A service would be stood in for by a local server that speaks its protocol."""
        self.file = tmp_path / "sheet.txt"
        self.file.write_text("pool temperature: 24 degrees\nopening hours: 9 to 5\n")

    @asynccontextmanager
    async def create(self) -> AsyncIterator[ToolSource]:
        yield SheetSource(SheetSettings(file=str(self.file)), SourceContext("sheet"))
