"""Calls of the ready tools against their stand-in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.tool_sources import started
from vixio.core.chunk import Chunk, Notice
from vixio.core.tools.context import ToolContext
from vixio.core.tools.execute import execute
from vixio.core.tools.types import ToolCallResult
from vixio.tools.ready.settings import ReadySettings
from vixio.tools.ready.source import ReadySource


@dataclass
class Called:
    """The tools of a source, called for a device. ``shown``: on its screen."""

    source: ReadySource
    language: str = "en"
    place: str = ""
    shown: list[str] = field(default_factory=list)

    async def call(self, name: str, **arguments: object) -> ToolCallResult:
        """Call a tool and return what it answers."""
        tool = next(each for each in self.source.tools() if each.name == name)
        assert tool.options.read_only
        context = ToolContext(language=self.language, place=self.place, turn_id=1, emit=self._emit)
        result, _ = await execute(tool, dict(arguments), context)
        return result

    async def said(self, name: str, **arguments: object) -> str:
        """Call a tool; return what a voice says of its answer or of its failure."""
        from vixio.language.phrasebook import Result

        read = Result.read((await self.call(name, **arguments)).for_model())
        return read.apology(self.language) if read.failed else str(read.field("spoken"))

    def _emit(self, chunk: Chunk) -> None:
        if isinstance(chunk, Notice):
            self.shown.append(chunk.text)


@asynccontextmanager
async def ready(*on: object, zone: str = "UTC") -> AsyncIterator[Called]:
    """Yield the tools that a list of the settings switches on, started."""
    settings = ReadySettings.model_validate(list(on))
    async with started(ReadySource(settings, time_zone=zone)) as source:
        assert source.faults == []
        yield Called(source)


def at(service: Any, **options: object) -> dict[str, object]:  # noqa: ANN401 - a stand-in
    """Return the entry of the weather at a stand-in."""
    urls = {"forecast_url": service.http, "geocoding_url": service.http}
    return {"weather": {**urls, **options}}
