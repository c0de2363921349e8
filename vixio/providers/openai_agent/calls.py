"""Runs one tool call: arguments checked once, time limited, retried where that is safe.

Whatever goes wrong comes back as a :class:`ToolCallResult`; only cancellation is raised, so no tool
can end a turn. Knows nothing of the agent SDK.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, NoReturn

from jsonschema import SchemaError
from jsonschema.protocols import Validator
from loguru import logger
from referencing.exceptions import Unresolvable

from vixio.core.errors import ToolError
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition
from vixio.providers.openai_agent.schemas import SchemaTooCostly, bounded, bounded_validator

GRACE = 1.0
"""Seconds that a tool client gets beyond its own timeout before it is given up."""

_MAX_FAULTS = 3
_MAX_MESSAGE = 500


def whole_schema(parameters: Mapping[str, Any]) -> JsonObject:
    """Return ``parameters`` as an object schema; nothing is dropped."""
    return {"type": "object", "properties": {}, **parameters}


class ToolCall:
    """A tool made ready to be called."""

    def __init__(self, tool_def: ToolDefinition) -> None:
        """Compile the schema of ``tool_def``; raises ToolError if it is no JSON Schema."""
        self._tool = tool_def
        self._validator = _compile(whole_schema(tool_def.parameters), tool_def.name)

    async def run(self, arguments: str, call_id: str = "") -> ToolCallResult:
        """Call it with the JSON text that the model wrote."""
        try:
            parsed = self._parse(arguments)
        except ToolError as error:
            return _failure(call_id, error)
        options = self._tool.options
        tries = 1 + (options.retries if options.idempotent else 0)
        result = await self._once(parsed, call_id)
        while not result.success and result.retryable and tries > 1:
            tries -= 1
            logger.bind(tool=self._tool.name, error_type=result.error_type).debug("tool retried")
            result = await self._once(parsed, call_id)
        return result

    def _parse(self, text: str) -> JsonObject:
        try:
            parsed = json.loads(text, parse_constant=_refuse_constant) if text.strip() else {}
        except ValueError as error:
            raise ToolError("invalid_arguments", f"the arguments are no JSON: {error}") from error
        if parsed is None:
            parsed = {}
        if not isinstance(parsed, dict):
            raise ToolError("invalid_arguments", "the arguments must be one JSON object")
        try:
            with bounded():
                found = list(self._validator.iter_errors(parsed))
        except Unresolvable as error:
            message = "the tool's schema refers to something that is not in it"
            raise ToolError("failed", message) from error
        except (RecursionError, SchemaTooCostly) as error:
            message = "the tool's schema leads too far to check arguments by it"
            raise ToolError("failed", message) from error
        faults = sorted(found, key=lambda fault: fault.json_path)
        if faults:
            named = [
                f"{fault.json_path.removeprefix('$').lstrip('.') or 'arguments'}: {fault.message}"
                for fault in faults[:_MAX_FAULTS]
            ]
            raise ToolError("invalid_arguments", "; ".join(named)[:_MAX_MESSAGE], retryable=True)
        return parsed

    async def _once(self, arguments: JsonObject, call_id: str) -> ToolCallResult:
        tool = self._tool
        limit = tool.options.timeout
        caller = tool.device_client or tool.mcp_client
        timer = asyncio.timeout(limit if caller is None else limit + GRACE)
        try:
            async with timer:
                if caller is not None:
                    return await caller.call_tool(tool.name, arguments, timeout=limit)
                return await _call_function(tool.executor, arguments, call_id)
        except ToolError as error:
            return _failure(call_id, error)
        except TimeoutError as error:
            if timer.expired():
                late = ToolError("timeout", f"no answer within {limit:g} s", retryable=True)
                return _failure(call_id, late)
            return _crash(tool.name, call_id, error)
        except Exception as error:  # noqa: BLE001 - a tool is anybody's code; the model is told
            return _crash(tool.name, call_id, error)


async def _call_function(
    function: Callable[..., Awaitable[Any]] | None, arguments: JsonObject, call_id: str
) -> ToolCallResult:
    if function is None:
        raise ToolError("failed", "nobody executes this tool")
    returned = await function(**arguments)
    if isinstance(returned, ToolCallResult):
        return returned
    return ToolCallResult(call_id, success=True, result=_to_text(returned))


def _to_text(value: Any) -> str:  # noqa: ANN401 - a tool returns what it likes
    if isinstance(value, str):
        return value
    if value is None:
        return "done"
    return json.dumps(value, ensure_ascii=False, default=str)


def _compile(schema: JsonObject, name: str) -> Validator:
    try:
        return _validator(json.dumps(schema, sort_keys=True))
    except (SchemaError, SchemaTooCostly, TypeError, ValueError, RecursionError) as error:
        reason = error.message if isinstance(error, SchemaError) else str(error)
        message = f"the parameters of {name} are no JSON Schema: {reason[:200]}"
        raise ToolError("failed", message) from error


@lru_cache(maxsize=1024)
def _validator(schema: str) -> Validator:
    """Compile a schema, half a millisecond each; devices of one kind bring the same ones."""
    return bounded_validator(json.loads(schema))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _failure(call_id: str, error: ToolError) -> ToolCallResult:
    return ToolCallResult(
        call_id,
        success=False,
        error=str(error),
        error_type=error.type,
        retryable=error.retryable,
    )


def _crash(tool: str, call_id: str, error: Exception) -> ToolCallResult:
    logger.bind(tool=tool, error=type(error).__name__).warning("tool raised")
    message = f"{type(error).__name__}: {error}".splitlines()[0]
    return _failure(call_id, ToolError("failed", message[:_MAX_MESSAGE]))
