"""What a tool is, framework-free. Providers convert it to what their agent framework wants."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vixio.core.tools.device import ToolCaller

JsonObject = dict[str, Any]

EMPTY_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """How a tool is run.

    ``timeout``: seconds for one call. ``retries``: further tries after a failure that a retry can
    help; only for ``idempotent`` tools. ``max_result_chars``: longer results are cut for the model.
    """

    timeout: float = 30.0
    retries: int = 0
    idempotent: bool = False
    max_result_chars: int = 16_000


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool: its name on its source's wire, its description and its full JSON Schema.

    Exactly one of ``executor`` (local function), ``device_client`` and ``mcp_client`` executes it.
    ``alias`` is the name that the model sees (``[A-Za-z0-9_-]{1,64}``); a
    :class:`~vixio.core.tools.toolset.ToolSet` assigns it, unique in the session.
    ``source`` says where it comes from: ``device``, ``local``, an MCP server's name, …
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: dict(EMPTY_SCHEMA))
    source: str = "local"
    options: ToolOptions = ToolOptions()
    executor: Callable[..., Awaitable[Any]] | None = None
    device_client: ToolCaller | None = None
    mcp_client: ToolCaller | None = None
    alias: str = ""


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """A call as the model made it, arguments parsed."""

    tool_name: str
    arguments: JsonObject
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image in a tool's answer: base64 ``data`` of ``mime_type``."""

    data: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """A tool's answer: ``result`` when it succeeded, else ``error`` with its class.

    ``error_type`` is one of :class:`~vixio.core.errors.ToolError`'s types.
    """

    call_id: str
    success: bool
    result: str | None = None
    error: str | None = None
    error_type: str = ""
    retryable: bool = False
    images: tuple[ImagePart, ...] = ()

    def for_model(self, max_chars: int = 16_000) -> str:
        """Return the text that the model reads: the result, or a structured error as JSON."""
        if self.success:
            # Half a surrogate pair would make every later request to a model fail.
            text = (self.result or "").encode("utf-8", "replace").decode()
            if len(text) <= max_chars:
                return text
            return f"{text[:max_chars]}… [cut: {len(text)} characters in all]"
        error = {
            "type": self.error_type or "failed",
            "message": (self.error or "the tool failed")[:2_000],
            "retryable": self.retryable,
        }
        return json.dumps({"error": error}, ensure_ascii=False)
