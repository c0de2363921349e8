"""One call of one tool: limited in time, retried where that is safe, every failure a result."""

from __future__ import annotations

import asyncio
import logging

from vixio.core.backoff import Backoff
from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition

GRACE = 1.0
"""Seconds that a caller which does not keep time itself gets beyond the tool's timeout."""

LONGEST_BACKOFF = 5.0
"""Seconds between two tries at most, since a user is waiting."""

_MAX_MESSAGE = 500

_log = logging.getLogger(__name__)


async def execute(
    tool: ToolDefinition, arguments: JsonObject, context: ToolContext, call_id: str = ""
) -> tuple[ToolCallResult, int]:
    """Run ``tool`` with checked arguments; return its answer and the number of retries.

    Only cancellation is raised.
    """
    options = tool.options
    tries = 1 + (options.retries if options.idempotent else 0)
    backoff = Backoff(options.backoff, LONGEST_BACKOFF)
    retries = 0
    while True:
        own = getattr(tool.caller, "keeps_time", False)
        timer = asyncio.timeout(None if own else options.timeout + GRACE)
        try:
            if tool.caller is None:
                raise ToolError("failed", "the tool has no caller")
            async with timer:
                result = await tool.caller.call_tool(
                    tool.name, arguments, timeout=options.timeout, context=context
                )
        except ToolError as error:
            result = ToolCallResult.failure(error, call_id)
        except TimeoutError as error:
            if timer.expired():
                reason = f"no answer within {options.timeout:g} s"
                late = ToolError("timeout", reason, retryable=True)
                result = ToolCallResult.failure(late, call_id)
            else:
                result = _crash(tool.name, call_id, error)
        except Exception as error:  # noqa: BLE001 - third-party code; the model reads the error
            result = _crash(tool.name, call_id, error)
        if result.success or not result.retryable or retries + 1 >= tries:
            return result, retries
        if result.retry_after > LONGEST_BACKOFF:
            return result, retries  # an earlier try would be refused
        retries += 1
        await asyncio.sleep(max(backoff.delay(retries), result.retry_after))


def _crash(tool: str, call_id: str, error: Exception) -> ToolCallResult:
    _log.warning("tool raised", extra={"tool": tool, "error": type(error).__name__})
    lines = f"{type(error).__name__}: {error}".splitlines()
    return ToolCallResult.failure(ToolError("failed", lines[0][:_MAX_MESSAGE]), call_id)
