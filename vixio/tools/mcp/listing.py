"""Converts a server's list of tools to definitions: filtered, bounded, with options."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from vixio.core.tools.types import ToolCaller, ToolDefinition, ToolOptions
from vixio.tools.mcp.config import McpServerConfig
from vixio.tools.source import Fault

if TYPE_CHECKING:
    from mcp.types import Tool, ToolAnnotations

MAX_TOOLS = 256
MAX_NAME_CHARS = 256
MAX_DESCRIPTION_CHARS = 2_000
MAX_SCHEMA_CHARS = 20_000
"""As JSON. Every request to the model contains all schemas."""


def to_definitions(
    tools: Iterable[Tool], config: McpServerConfig, caller: ToolCaller
) -> tuple[tuple[ToolDefinition, ...], list[Fault]]:
    """Return the definitions of the tools that ``config`` allows, and what was left out."""
    found: dict[str, ToolDefinition] = {}
    faults: list[Fault] = []
    for tool in tools:
        if not _wanted(tool.name, config):
            continue
        place = f"{config.name}/{tool.name[:MAX_NAME_CHARS]}"
        schema = _bounded_schema(tool.input_schema)
        if len(found) == MAX_TOOLS:
            faults.append(Fault(place, f"the server has more than {MAX_TOOLS} tools"))
            break
        if tool.name in found or not 0 < len(tool.name) <= MAX_NAME_CHARS:
            faults.append(Fault(place, "its name is empty, too long or a duplicate"))
        elif schema is None:
            faults.append(Fault(place, f"its schema has more than {MAX_SCHEMA_CHARS} characters"))
        else:
            found[tool.name] = ToolDefinition(
                name=tool.name,
                description=_description(tool),
                parameters=schema,
                source=config.name,
                options=_options(tool.annotations, config),
                caller=caller,
            )
    return tuple(found.values()), faults


def _wanted(name: str, config: McpServerConfig) -> bool:
    if any(fnmatchcase(name, pattern) for pattern in config.deny):
        return False
    return not config.allow or any(fnmatchcase(name, pattern) for pattern in config.allow)


def _description(tool: Tool) -> str:
    words = (tool.description or tool.title or tool.name).strip()
    if len(words) > MAX_DESCRIPTION_CHARS:
        words = f"{words[: MAX_DESCRIPTION_CHARS - 1]}…"
    # Model APIs reject every request that contains half a surrogate pair.
    return words.encode("utf-8", "replace").decode()


def _options(annotations: ToolAnnotations | None, config: McpServerConfig) -> ToolOptions:
    """Return the options that the annotations imply.

    By the specification a missing ``destructiveHint`` means true, but hardly any server sets it.
    Only an explicit hint counts here; otherwise every harmless tool would need a yes.
    """
    reads = annotations is not None and annotations.read_only_hint is True
    repeatable = reads or (annotations is not None and annotations.idempotent_hint is True)
    destroys = annotations is not None and annotations.destructive_hint is True and not reads
    return ToolOptions(
        timeout=config.timeout,
        confirm=config.confirm == "always" or (config.confirm == "destructive" and destroys),
        idempotent=repeatable,
        read_only=reads,
        retries=config.retries if repeatable else 0,
    )


def _bounded_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema, without descriptions if it is too long; None if it still is."""
    try:
        for candidate in (schema, _without_words(schema)):
            text = json.dumps(candidate, ensure_ascii=False)
            if len(text) <= MAX_SCHEMA_CHARS:
                whole: dict[str, Any] = json.loads(text.encode("utf-8", "replace"))
                return whole
    except (ValueError, RecursionError):
        pass  # nested too deeply: treated as too long
    return None


def _without_words(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``schema`` without explanations. Properties with such names are mappings and stay."""
    return {
        key: _without_words(value) if isinstance(value, Mapping) else value
        for key, value in schema.items()
        if isinstance(value, Mapping) or key not in {"description", "title", "examples"}
    }
