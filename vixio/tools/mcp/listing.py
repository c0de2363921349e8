"""Converts a server's list of tools to definitions: filtered, bounded, with options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vixio.core.tools.policy import chosen
from vixio.core.tools.source import Fault
from vixio.core.tools.types import ToolCaller, ToolDefinition, ToolOptions
from vixio.tools.bounds import (
    MAX_NAME_CHARS,
    MAX_SCHEMA_CHARS,
    MAX_TOOLS,
    bounded_description,
    bounded_schema,
)
from vixio.tools.mcp.config import McpServerConfig

if TYPE_CHECKING:
    from mcp.types import Tool, ToolAnnotations


def to_definitions(
    tools: Iterable[Tool], config: McpServerConfig, caller: ToolCaller
) -> tuple[tuple[ToolDefinition, ...], list[Fault]]:
    """Return the definitions of the tools that ``config`` allows, and what was left out."""
    found: dict[str, ToolDefinition] = {}
    faults: list[Fault] = []
    for tool in tools:
        if not chosen(tool.name, config.allow, config.deny):
            continue
        place = f"{config.name}/{tool.name[:MAX_NAME_CHARS]}"
        schema = bounded_schema(tool.input_schema)
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
                description=bounded_description(tool.description or tool.title or tool.name),
                parameters=schema,
                source=config.name,
                options=_options(tool.annotations, config),
                caller=caller,
            )
    return tuple(found.values()), faults


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
