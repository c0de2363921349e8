"""Runs the calls that a model makes: in a session by its turn's tools, else directly."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from vixio.core.errors import ToolError
from vixio.core.tools.arguments import read_arguments
from vixio.core.tools.confirm import ASK
from vixio.core.tools.context import ToolContext
from vixio.core.tools.execute import execute
from vixio.core.tools.late_results import finish
from vixio.core.tools.types import ToolCallResult, ToolDefinition


class ToolRunner(Protocol):
    """Runs the calls that a model makes."""

    async def run(self, tool: ToolDefinition, arguments: str, call_id: str = "") -> ToolCallResult:
        """Run ``tool`` with the JSON text that the model wrote.

        Whatever goes wrong is a result; only cancellation is raised.
        """
        ...


class DirectRunner(ToolRunner):
    """Runs calls without a session, for agents that are used on their own.

    Tools that need the user's yes are refused, and a call waits for a deferred result.
    """

    async def run(self, tool: ToolDefinition, arguments: str, call_id: str = "") -> ToolCallResult:
        """Run a call of the model; see :class:`ToolRunner`."""
        try:
            parsed = read_arguments(tool, arguments)
            if tool.needs_yes(parsed):
                raise ToolError("confirmation_required", ASK)
        except ToolError as error:
            return ToolCallResult.failure(error, call_id)
        result, _ = await execute(tool, parsed, ToolContext(), call_id)
        if result.late is not None:
            limit = min(result.late.timeout, tool.options.timeout)
            result = await finish(replace(result.late, timeout=limit), tool.name)
        return result.capped(tool.options.max_result_chars)


DIRECT = DirectRunner()
