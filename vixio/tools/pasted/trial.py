"""Starts a source once: lists its tools, calls one that does no harm, and ends it."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from vixio.core.errors import ToolError
from vixio.core.tools.source import ToolSource
from vixio.core.tools.types import ToolDefinition
from vixio.tools.bounds import bounded_description

CALL_S: Final = 20.0

CLOSE_S: Final = 10.0

MAX_ANSWER_CHARS: Final = 500

_READS: Final = re.compile(
    r"(?:get|list|read|show|search|find|fetch|describe|status|version|time|current|now|ping|echo"
    r"|health|whoami|info)(?![a-z])",
    re.IGNORECASE,
)
"""How the names of tools begin that only read, where a server does not say so."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The tool to call: the first with this name, with ``arguments``. Empty: a harmless one."""

    tool: str = ""
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class TriedSource:
    """``problem``: why it cannot be used; empty: it works. ``called``: the tool that was called;
    empty: none was, since none is known to do no harm. ``answer``: of that tool."""

    problem: str = ""
    tools: Sequence[tuple[str, str]] = ()
    called: str = ""
    answer: str = ""
    ms: int = 0


async def try_source(source: ToolSource, limit: float, wanted: Wanted) -> TriedSource:
    """Try a source, which is unstarted, for about ``limit`` seconds; it is closed then.

    A process behind it has ended when this returns.
    """
    began = time.perf_counter()
    try:
        try:
            async with asyncio.timeout(limit):
                await source.start()
                await source.ready()
        except TimeoutError:
            return TriedSource(f"it was not ready after {limit:g} s")
        tools = tuple(source.tools())
        if not tools:
            faults = [fault.reason for fault in source.faults]
            return TriedSource(faults[0] if faults else "it has no tools")
        called = _chosen(tools, wanted)
        answer = await _answer(called, wanted) if called is not None else ""
        return TriedSource(
            tools=[(tool.name, bounded_description(tool.description, 300)) for tool in tools],
            called=called.name if called is not None else "",
            answer=answer[:MAX_ANSWER_CHARS],
            ms=round((time.perf_counter() - began) * 1000),
        )
    finally:
        closing = asyncio.ensure_future(source.close())
        await asyncio.wait((closing,), timeout=CLOSE_S)
        closing.cancel()


def _chosen(tools: Sequence[ToolDefinition], wanted: Wanted) -> ToolDefinition | None:
    if wanted.tool:
        return next((tool for tool in tools if tool.name == wanted.tool), None)
    bare = [tool for tool in tools if not tool.parameters.get("required")]
    reading = [tool for tool in bare if tool.options.read_only]
    reading += [
        tool
        for tool in bare
        if _READS.match(tool.name)
        and not tool.options.confirm
        and not tool.parameters.get("properties")
    ]
    return reading[0] if reading else None


async def _answer(tool: ToolDefinition, wanted: Wanted) -> str:
    """Return what a tool answers, or why it does not."""
    arguments: Any = {}
    if wanted.tool:
        try:
            arguments = json.loads(wanted.arguments or "{}")
        except ValueError:
            return "it was not called: the arguments are no JSON object"
        if not isinstance(arguments, dict):
            return "it was not called: the arguments are no JSON object"
    assert tool.caller is not None  # noqa: S101 - of every source
    try:
        async with asyncio.timeout(CALL_S + 1):
            result = await tool.caller.call_tool(tool.name, arguments, timeout=CALL_S)
    except TimeoutError:
        return f"no answer within {CALL_S:g} s"
    except ToolError as error:
        return f"it failed: {error}"
    if not result.success:
        return f"it failed: {result.error}"
    return " ".join((result.result or "it is done").split())
