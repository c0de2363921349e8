"""Runs a Python function as a tool."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.late import Deferred
from vixio.core.tools.types import JsonObject, ToolCallResult


@dataclass(frozen=True, slots=True)
class FunctionCaller:
    """A :class:`~vixio.core.tools.types.ToolCaller` for one async function.

    The function takes the arguments by name. ``takes_context``: a
    :class:`~vixio.core.tools.context.ToolContext` comes first, as a positional argument. It returns
    text, a JSON value, None, a :class:`~vixio.core.tools.types.ToolCallResult`, or a
    :class:`~vixio.core.tools.late.Deferred` when the result comes later.
    """

    keeps_time: ClassVar[bool] = True
    function: Callable[..., Awaitable[Any]]
    takes_context: bool = False

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Await the function; ToolError (``timeout``) after ``timeout`` seconds.

        Any other exception of the function is passed on.
        """
        given = (context or ToolContext(),) if self.takes_context else ()
        timer = asyncio.timeout(timeout)
        try:
            async with timer:
                returned = await self.function(*given, **arguments)
        except TimeoutError:
            if not timer.expired():
                raise
            raise ToolError("timeout", f"no answer within {timeout:g} s", retryable=True) from None
        if returned is None:
            return ToolCallResult("", success=True, result="done")
        return to_result(returned)


def to_result(value: Any) -> ToolCallResult:  # noqa: ANN401 - whatever a function returns
    """Return a function's result as a tool's: JSON for anything but text, empty for None."""
    match value:
        case ToolCallResult():
            return value
        case Deferred():
            return ToolCallResult("", success=True, late=value)
        case None:
            return ToolCallResult("", success=True, result="")
        case str():
            return ToolCallResult("", success=True, result=value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return ToolCallResult("", success=True, result=text)


def caller_of(
    func: Callable[..., Any],
    enums: Mapping[str, type[Enum]],
    context_in: str,
    owner: Callable[[ToolContext], Any] | None,
) -> FunctionCaller:
    """Return a caller of ``func``; one that is not async runs in a thread.

    ``enums``: parameters whose JSON value becomes a member of an Enum. ``context_in``: the
    parameter that takes the context, empty for none. ``owner``: ``func`` is a method, called on
    what ``owner`` makes for the session.
    """
    is_async = inspect.iscoroutinefunction(func)
    if is_async and not enums and not context_in and owner is None:
        return FunctionCaller(func)

    @functools.wraps(func)
    async def run(context: ToolContext, /, **arguments: Any) -> Any:  # noqa: ANN401 - any result
        for name, enum in enums.items():
            if arguments.get(name) is not None:
                arguments[name] = enum(arguments[name])
        if context_in:
            arguments[context_in] = context
        call: Callable[..., Any] = func
        if owner is not None:
            call = functools.partial(func, await context.instance(owner))
        if is_async:
            return await call(**arguments)
        return await asyncio.to_thread(call, **arguments)

    return FunctionCaller(run, takes_context=True)
