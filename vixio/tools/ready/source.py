"""The ready tools that are on, as one source, and the factory of its type."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from time import perf_counter
from typing import Any, Final

from vixio.core.errors import ToolError
from vixio.core.extras import how_to_install
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.source import Fault, ToolSource
from vixio.core.tools.types import ToolDefinition, ToolOptions
from vixio.tools.ready.calculator import calculate, convert_units, load_units
from vixio.tools.ready.dates import Dates
from vixio.tools.ready.events import Calendar
from vixio.tools.ready.news import Headlines
from vixio.tools.ready.search import Search
from vixio.tools.ready.settings import ReadySettings
from vixio.tools.ready.weather import Weather
from vixio.tools.registry import SourceContext, ToolSourceFactory

SOURCE: Final = "ready"

_BOUNDS: Final = {"in_days": (0, 12), "days": (1, 7)}


class ReadySource(ToolSource):
    """Tools whose library is missing are left out, with a fault that says how to install it."""

    def __init__(
        self,
        settings: ReadySettings,
        name: str = SOURCE,
        time_zone: str = "",
        *,
        private: bool = True,
    ) -> None:
        """``time_zone``: IANA; empty: this machine's. ``private``: services may be in the private
        network. Raises ConfigError."""
        super().__init__(name)
        self._asks: dict[str, Weather | Headlines | Calendar | Search] = {}
        self._loads: dict[str, Callable[[], None]] = {}
        self._functions: dict[str, Sequence[Callable[..., Any]]] = {}
        seconds: dict[str, float] = {}
        if settings.weather is not None:
            weather = self._asks["weather"] = Weather(settings.weather)
            # It asks where the place is, and for the forecast.
            self._functions["weather"] = [weather.get_weather]
            seconds["weather"] = 2 * settings.weather.timeout
        if settings.news is not None:
            news = self._asks["news"] = Headlines(settings.news)
            self._functions["news"], self._loads["news"] = [news.get_news], news.load
            seconds["news"] = settings.news.timeout
        if settings.calculator is not None:
            self._functions["calculator"] = [calculate, convert_units]
            self._loads["calculator"] = load_units
        if settings.dates is not None:
            dates = Dates(time_zone)
            self._functions["dates"] = [dates.days_until, dates.about_date]
            self._loads["dates"] = dates.load
        if settings.calendar is not None:
            calendar = self._asks["calendar"] = Calendar(settings.calendar, time_zone)
            self._functions["calendar"] = [calendar.get_calendar]
            self._loads["calendar"] = calendar.load
            seconds["calendar"] = settings.calendar.timeout
        if settings.search is not None:
            search = self._asks["search"] = Search(settings.search)
            self._functions["search"] = [search.search_web]
            seconds["search"] = settings.search.timeout
        for asked in self._asks.values():
            asked.service.private = private
        self._seconds = seconds
        self._tools = self._described(())

    async def start(self) -> None:
        """Load the libraries, off the event loop. No service is asked."""
        missing = await asyncio.to_thread(self._load)
        self.faults = [
            Fault(name, f"a library is missing: {how_to_install('ready')}") for name in missing
        ]
        tools = self._described(missing)
        if tools != self._tools:
            self._tools = tools
            self.changed()

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the tools that are on."""
        return self._tools

    async def look(self) -> str:
        """Ask each service once; return how fast they answer. Raises ToolError of the first."""
        said = []
        for name, asked in self._asks.items():
            began = perf_counter()
            try:
                if not await asked.look():
                    continue
            except ToolError as error:
                raise ToolError(error.type, f"{name}: {error}") from None
            said.append(f"{name} {1000 * (perf_counter() - began):.0f} ms")
        return ", ".join(said)

    async def close(self) -> None:
        """Close all connections."""
        for asked in self._asks.values():
            await asked.close()

    def _load(self) -> list[str]:
        if self._asks:
            import_module("httpx2")
        missing = []
        for name, load in self._loads.items():
            try:
                load()
            except ImportError:
                missing.append(name)
        return missing

    def _described(self, missing: Sequence[str]) -> tuple[ToolDefinition, ...]:
        found = []
        for name, functions in self._functions.items():
            if name in missing and name != "dates":  # whose lunar calendar alone is a library's
                continue
            timeout = self._seconds.get(name, 5.0) + 1.0
            options = ToolOptions(timeout=timeout, idempotent=True, read_only=True)
            for function in functions:
                tool = func_to_tool_definition(function, self.name, options)
                found.append(replace(tool, parameters=_bounded(tool.parameters)))
        return tuple(found)


def _bounded(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with the bounds of its numbers, which a signature cannot hold."""
    properties = {
        name: {**schema, "minimum": _BOUNDS[name][0], "maximum": _BOUNDS[name][1]}
        if name in _BOUNDS
        else schema
        for name, schema in parameters["properties"].items()
    }
    # Without the key, whatever has no default counts as required (the firmware's rule).
    return {"required": [], **parameters, "properties": properties}


def _create(settings: ReadySettings, context: SourceContext) -> ReadySource:
    return ReadySource(settings, context.name, context.time_zone, private=context.trusted)


FACTORY = ToolSourceFactory(settings_model=ReadySettings, create=_create)
