"""One call of one tool: time limited, retried where that is safe, every failure a result."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from loguru import logger

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition

GRACE = 1.0
"""Seconds that a tool client gets beyond its own timeout before it is given up."""

LONGEST_BACKOFF = 5.0
"""Seconds; somebody is waiting."""

_MAX_MESSAGE = 500


async def execute(
    tool: ToolDefinition, arguments: JsonObject, context: ToolContext, call_id: str = ""
) -> tuple[ToolCallResult, int]:
    """Run ``tool`` with checked arguments; return its answer and the number of retries.

    Only cancellation is raised.
    """
    options = tool.options
    tries = 1 + (options.retries if options.idempotent else 0)
    pause = options.backoff
    retries = 0
    while True:
        result = await _once(tool, arguments, context, call_id)
        if result.success or not result.retryable or retries + 1 >= tries:
            return result, retries
        if result.retry_after > LONGEST_BACKOFF:
            return result, retries  # it would be refused again until then
        retries += 1
        await asyncio.sleep(max(min(pause, LONGEST_BACKOFF), result.retry_after))
        pause *= 2


async def _once(
    tool: ToolDefinition, arguments: JsonObject, context: ToolContext, call_id: str
) -> ToolCallResult:
    limit = tool.options.timeout
    caller = tool.device_client or tool.mcp_client
    timer = asyncio.timeout(limit if caller is None else limit + GRACE)
    try:
        async with timer:
            if caller is not None:
                return await caller.call_tool(tool.name, arguments, timeout=limit)
            return await _call_function(tool, arguments, context, call_id)
    except ToolError as error:
        return ToolCallResult.failure(error, call_id)
    except TimeoutError as error:
        if timer.expired():
            late = ToolError("timeout", f"no answer within {limit:g} s", retryable=True)
            return ToolCallResult.failure(late, call_id)
        return _crash(tool.name, call_id, error)
    except Exception as error:  # noqa: BLE001 - a tool is anybody's code; the model is told
        return _crash(tool.name, call_id, error)


async def _call_function(
    tool: ToolDefinition, arguments: JsonObject, context: ToolContext, call_id: str
) -> ToolCallResult:
    if tool.executor is None:
        raise ToolError("failed", "nobody executes this tool")
    given = (context,) if tool.takes_context else ()
    returned = await tool.executor(*given, **arguments)
    if isinstance(returned, ToolCallResult):
        return returned
    return ToolCallResult(call_id, success=True, result=_to_text(returned))


def _to_text(value: Any) -> str:  # noqa: ANN401 - a tool returns what it likes
    if isinstance(value, str):
        return value
    if value is None:
        return "done"
    return json.dumps(value, ensure_ascii=False, default=str)


def _crash(tool: str, call_id: str, error: Exception) -> ToolCallResult:
    logger.bind(tool=tool, error=type(error).__name__).warning("tool raised")
    lines = f"{type(error).__name__}: {error}".splitlines()
    return ToolCallResult.failure(ToolError("failed", lines[0][:_MAX_MESSAGE]), call_id)
