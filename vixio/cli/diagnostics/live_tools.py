"""The sources of tools: each is asked who it is, and its tools are counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from vixio.cli.diagnostics.row import Row, quoted
from vixio.core.errors import VixioError, describe
from vixio.core.metrics import Counters
from vixio.core.moment import NO_CONTEXT, ContextSource
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import ToolSource
from vixio.settings import Settings
from vixio.tools.from_settings import make_runtime
from vixio.tools.moment import Moments


async def tool_rows(settings: Settings, limit: float) -> AsyncIterator[Row]:
    """Start the sources of the settings, and yield the row of each.

    ``limit``: seconds for all of them to be ready, and for each to answer then.
    """
    try:
        runtime = make_runtime(settings, Counters())
    except VixioError as error:
        row = Row("tools")
        row.fail(str(error))
        yield row
        return
    rows = [Row(f"tools.{source.name}", source.name) for source in runtime.sources]
    try:
        await runtime.start()
        await runtime.ready(limit)
        for source, row in zip(runtime.sources, rows, strict=True):
            await try_source(runtime, source, row, limit)
            yield row
        async for row in _context_rows(settings, runtime, limit):
            yield row
    finally:
        await runtime.close()


async def _context_rows(
    settings: Settings, runtime: ToolRuntime, limit: float
) -> AsyncIterator[Row]:
    """Ask each source of ``context`` once, and yield the row of each: equal ones have one."""
    sections = {"assistant": settings.assistant.context} | {
        f"devices.{key}": section.context or NO_CONTEXT for key, section in settings.devices.items()
    }
    places: dict[ContextSource, str] = {}
    for place, context in sections.items():
        for source in context.sources:
            places.setdefault(source, f"{place}.context.{source.name}")
    moments = Moments(runtime.counters, lambda: runtime.sources)
    try:
        for source, place in places.items():
            row = Row(place, source.mcp or "http")
            row.is_ready()
            try:
                async with asyncio.timeout(limit):
                    row.detail = quoted(await moments.answer(source))
                row.is_done()
            except TimeoutError:
                row.fail("it did not answer in time")
            except Exception as error:  # noqa: BLE001 - third-party code: whatever is wrong is the answer
                row.fail(str(error) if isinstance(error, VixioError) else describe(error))
            yield row
    finally:
        await moments.close()


async def try_source(runtime: ToolRuntime, source: ToolSource, row: Row, limit: float) -> None:
    """Note in ``row`` what a source of a runtime that was started offers, or what is wrong.

    Its tools are not called: what they do is not known.
    """
    try:
        row.is_ready()
        async with asyncio.timeout(limit):
            more = await source.look()
            row.is_done()
    except TimeoutError:
        row.fail(f"it did not answer within {limit:g} s: see the log")
        return
    except Exception as error:  # noqa: BLE001 - third-party code: whatever is wrong is the answer
        row.fail(describe(error))
        return
    report = next(each for each in runtime.reports() if each.name == source.name)
    if report.faults:
        row.fail("; ".join(f"{each.place}: {each.reason}" for each in report.faults))
        return
    if report.pending:
        row.fail("it is still connecting: try again in a moment")
        return
    count = len(report.tools)
    row.detail = f"{count} tool" + ("" if count == 1 else "s") + (f"; {more}" if more else "")
