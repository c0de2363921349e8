"""The sources of tools: each is asked who it is, and its tools are counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from vixio.cli.diagnostics.row import Row
from vixio.core.errors import VixioError, describe
from vixio.core.metrics import Counters
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import ToolSource
from vixio.settings import Settings
from vixio.tools.from_settings import make_runtime


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
    finally:
        await runtime.close()


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
