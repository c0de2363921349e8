"""Local tools: Python functions that an agent may call, described as tool definitions.

The JSON Schema comes from the type hints, its descriptions from the docstring's ``Args`` section.
Types without a JSON counterpart are refused: write a ToolDefinition with its own schema for these.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import types
from collections.abc import Awaitable, Callable
from datetime import datetime
from difflib import get_close_matches
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo, available_timezones

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.function import caller_of
from vixio.core.tools.types import JsonObject, ToolDefinition, ToolOptions
from vixio.core.wall_clock import date_time

_SCALARS: dict[Any, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Notes?):\s*$")
_ARGUMENT = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


async def get_time(zone: str = "") -> str:
    """Get the current date and time.

    Args:
        zone: Where, as an IANA time zone such as Asia/Tokyo or UTC; empty for the local time.
    """
    return (await _now(zone)).strftime("%Y-%m-%d %H:%M:%S")


async def get_date(zone: str = "") -> str:
    """Get the current date.

    Args:
        zone: Where, as an IANA time zone such as Asia/Tokyo or UTC; empty for the local date.
    """
    return (await _now(zone)).strftime("%Y-%m-%d")


BUILTIN_LOCAL_TOOLS: list[Callable[..., Awaitable[Any]]] = [get_time, get_date]
"""Stateless functions for every session; any agent framework can convert them."""


def func_to_tool_definition(
    func: Callable[..., Any],
    source: str = "local",
    options: ToolOptions = ToolOptions(),  # noqa: B008 - frozen, so one default serves all
    *,
    owner: Callable[[ToolContext], Any] | None = None,
) -> ToolDefinition:
    """Describe ``func`` as a tool; a function that is not async runs in a thread when called.

    The runtime fills a parameter annotated :class:`~vixio.core.tools.context.ToolContext`; the
    model does not see it. ``owner``: ``func`` is a method, called on what ``owner`` makes for the
    session. Raises TypeError that names the parameter: for hints other than str, int, float, bool,
    list, dict, Literal, Enum and unions of these, for missing hints, and for positional-only or
    variadic parameters.
    """
    name = getattr(func, "__name__", "") or type(func).__name__
    hints = get_type_hints(func)
    summary, described = _read_docstring(inspect.getdoc(func) or "")
    properties: JsonObject = {}
    required: list[str] = []
    enums: dict[str, type[Enum]] = {}
    context_in = ""
    parameters = list(inspect.signature(func).parameters.values())
    for parameter in parameters[1:] if owner is not None else parameters:
        where = f"{name}({parameter.name})"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{where}: a tool takes named parameters only")
        if parameter.name not in hints:
            raise TypeError(f"{where}: the type hint is missing")
        hint = hints[parameter.name]
        if hint is ToolContext or ToolContext in get_args(hint):
            context_in = parameter.name
            continue
        schema = _schema_of(hint, where)
        if parameter.name in described:
            schema["description"] = described[parameter.name]
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif (default := _json_default(parameter.default)) is not None:
            schema["default"] = default
        if (enum := _enum_in(hint)) is not None:
            enums[parameter.name] = enum
        properties[parameter.name] = schema
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return ToolDefinition(
        name=name,
        description=summary,
        parameters=schema,
        source=source,
        options=options,
        caller=caller_of(func, enums, context_in, owner),
    )


async def _now(zone: str) -> datetime:
    if not zone.strip():
        return date_time(None).astimezone()
    return date_time(await asyncio.to_thread(_zone, zone))  # zones are read from files


@functools.lru_cache(maxsize=256)
def _zone(zone: str) -> ZoneInfo:
    """Return an IANA zone; the last part of its name will do ("Tokyo"). Raises ToolError."""
    wanted = zone.strip().replace(" ", "_").lower()
    known = available_timezones()
    named = sorted(
        (name for name in known if wanted in (name.lower(), name.lower().rpartition("/")[2])),
        key=lambda name: (name.lower() != wanted, name),
    )
    if not named:
        places = {name.lower().rpartition("/")[2]: name for name in sorted(known)}
        close = [places[name] for name in get_close_matches(wanted, places, n=3)]
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        message = f"there is no time zone {zone[:60]!r}{hint}"
        raise ToolError("invalid_arguments", message, retryable=True)
    return ZoneInfo(named[0])


def _schema_of(hint: Any, where: str) -> JsonObject:  # noqa: ANN401 - hints have no common type
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        choices = [_schema_of(argument, where) for argument in arguments]
        plain = [choice["type"] for choice in choices if choice.keys() == {"type"}]
        return {"type": plain} if len(plain) == len(choices) else {"anyOf": choices}
    if origin is list:
        if arguments and arguments[0] is not Any:
            return {"type": "array", "items": _schema_of(arguments[0], where)}
        return {"type": "array"}
    if origin is dict:
        if arguments and arguments[0] is not str:
            raise TypeError(f"{where}: the keys of a JSON object are strings")
        if arguments and arguments[1] is not Any:
            return {"type": "object", "additionalProperties": _schema_of(arguments[1], where)}
        return {"type": "object"}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    raise TypeError(f"{where}: no JSON Schema for {hint!r}; write a ToolDefinition by hand")


def _enum_in(hint: Any) -> type[Enum] | None:  # noqa: ANN401 - hints have no common type
    """Return the Enum that a parameter takes, itself or None."""
    for choice in (hint, *get_args(hint)):
        if isinstance(choice, type) and issubclass(choice, Enum):
            return choice
    return None


def _json_default(default: Any) -> Any:  # noqa: ANN401 - any JSON value
    value = default.value if isinstance(default, Enum) else default
    return value if isinstance(value, str | int | float | bool | list | dict) else None


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into what stands before its sections and its arguments' descriptions."""
    summary: list[str] = []
    described: dict[str, str] = {}
    section, current, indent = "", "", 0
    for line in text.splitlines():
        if match := _SECTION.match(line):
            section, current, indent = match[1], "", 0
        elif not section:
            summary.append(line)
        elif section in ("Args", "Arguments", "Parameters") and line.strip():
            depth = len(line) - len(line.lstrip())
            indent = indent or depth
            if depth <= indent and (argument := _ARGUMENT.match(line.strip())):
                current = argument[1]
                described[current] = argument[2].strip()
            elif current:
                described[current] = f"{described[current]} {line.strip()}".strip()
    return "\n".join(summary).strip(), described
