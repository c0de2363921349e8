"""A tool as the phrase book sees it: only the parts that agent frameworks have in common."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vixio.core.tools.names import safe_tool_name

if TYPE_CHECKING:
    from vixio.core.tools.types import ToolDefinition


@dataclass(frozen=True, slots=True)
class ToolSignature:
    """``alias``: the name that the model sees; ``parameters``: the tool's JSON Schema.

    ``confirm``: the user is asked before it runs, and so may say yes or no.
    """

    alias: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    confirm: bool = False

    @classmethod
    def of(cls, tool: ToolDefinition) -> ToolSignature:
        """Return the signature of a definition, with or without an alias."""
        alias = tool.alias or safe_tool_name(tool.name)
        return cls(alias, tool.description, tool.parameters, tool.may_ask)


def signatures(tools: Iterable[ToolDefinition]) -> tuple[ToolSignature, ...]:
    """Return the signatures of a tool set's definitions."""
    return tuple(ToolSignature.of(tool) for tool in tools)


def fingerprint(tools: Sequence[ToolSignature], phrases: Sequence[str] = ()) -> str:
    """Return a digest of everything that the phrases depend on; equal for equal lists.

    ``phrases``: those that a grammar has besides.
    """
    content: list[object] = [
        [tool.alias, tool.description, tool.parameters, tool.confirm] for tool in tools
    ]
    content += phrases
    # In ASCII: a device may send half a surrogate pair, which UTF-8 cannot encode.
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
