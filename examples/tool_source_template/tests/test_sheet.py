"""What only this source does: its lines, its settings, its changes, and that Vixio finds it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import ValidationError
from vixio_sheet.source import FACTORY, SheetSettings, SheetSource, parse

from vixio.tools.registry import SourceContext, resolve


def test_vixio_finds_it_by_its_type() -> None:
    assert resolve("sheet") is FACTORY


def test_a_line_is_a_fact() -> None:
    text = "Pool temperature: 24 degrees\n\n# a note\nWi-Fi: see the fridge: left side\nempty:\n"
    assert parse(text) == {
        "get_pool_temperature": "24 degrees",
        "get_wi_fi": "see the fridge: left side",
    }


@pytest.mark.parametrize("wrong", [{}, {"file": ""}, {"file": "x", "refresh": 0}, {"fil": "x"}])
def test_a_wrong_setting_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SheetSettings.model_validate(wrong)


def test_its_tools_follow_the_file(tmp_path: Path) -> None:
    asyncio.run(_followed(tmp_path / "sheet.txt"))


async def _followed(file: Path) -> None:
    source = SheetSource(
        SheetSettings(file=str(file), refresh=0.01), SourceContext("s", place="tools.sources[0]")
    )
    changes: asyncio.Queue[list[str]] = asyncio.Queue()
    source.watch(lambda source: changes.put_nowait([tool.name for tool in source.tools()]))
    async with asyncio.timeout(20):
        await source.start()
        await source.ready()
        assert source.tools() == ()
        assert source.faults[0].place == "tools.sources[0].file"
        for text, names in (("a: 1", ["get_a"]), ("b: 2", ["get_b"])):
            file.with_suffix(".new").write_text(text)
            file.with_suffix(".new").replace(file)  # whole, or not at all
            assert await changes.get() == names
        assert source.faults == []
        await source.close()
