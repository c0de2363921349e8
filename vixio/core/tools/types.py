"""What a tool is, framework-free. Providers convert it to what their agent framework wants."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from vixio.core.errors import ToolError

JsonObject = dict[str, Any]

EMPTY_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """How a tool is run.

    ``timeout``: seconds for one call. ``retries``: further tries after a failure that a retry can
    help, the first after ``backoff`` seconds, doubled each time; only for ``idempotent`` tools.
    ``max_result_chars``: longer results are cut for the model. ``confirm``: runs only after the
    user's own yes. ``concurrency``: calls at the same time, 0 for no limit.
    """

    timeout: float = 30.0
    retries: int = 0
    idempotent: bool = False
    max_result_chars: int = 16_000
    backoff: float = 0.2
    confirm: bool = False
    concurrency: int = 0


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool: its name on its source's wire, its description and its full JSON Schema.

    Exactly one of ``executor`` (local function), ``device_client`` and ``mcp_client`` executes it.
    ``alias`` is the name that the model sees (``[A-Za-z0-9_-]{1,64}``); a
    :class:`~vixio.core.tools.toolset.ToolSet` assigns it, unique in the session.
    ``source`` says where it comes from: ``device``, ``local``, an MCP server's name, …
    ``takes_context``: ``executor`` wants a :class:`~vixio.core.tools.context.ToolContext` as its
    first, positional argument. ``needs``: names of the device's own tools without which this one
    is not offered.
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
    takes_context: bool = False
    needs: tuple[str, ...] = ()


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

    ``error_type`` is one of :class:`~vixio.core.errors.ToolError`'s types; ``retry_after`` its too.
    """

    call_id: str
    success: bool
    result: str | None = None
    error: str | None = None
    error_type: str = ""
    retryable: bool = False
    retry_after: float = 0.0
    images: tuple[ImagePart, ...] = ()

    @classmethod
    def failure(cls, error: ToolError, call_id: str = "") -> ToolCallResult:
        """Return ``error`` as the tool's answer."""
        return cls(
            call_id,
            success=False,
            error=str(error),
            error_type=error.type,
            retryable=error.retryable,
            retry_after=error.retry_after,
        )

    def capped(self, max_chars: int) -> ToolCallResult:
        """Return it with a result of at most ``max_chars``, and a note of how long it was."""
        text = self.result or ""
        if len(text) <= max_chars:
            return self
        return replace(self, result=f"{text[:max_chars]}… [cut: {len(text)} characters in all]")

    def for_model(self) -> str:
        """Return the text that the model reads: the result, or a structured error as JSON."""
        if self.success:
            # Half a surrogate pair would make every later request to a model fail.
            return (self.result or "").encode("utf-8", "replace").decode()
        error = {
            "type": self.error_type or "failed",
            "message": (self.error or "the tool failed")[:2_000],
            "retryable": self.retryable,
        }
        return json.dumps({"error": error}, ensure_ascii=False)


class ToolCaller(Protocol):
    """Whoever can run a tool by its name on the source's wire."""

    async def call_tool(
        self, tool_name: str, arguments: JsonObject, *, timeout: float | None = None
    ) -> ToolCallResult:
        """Run it and return its answer; a failure is a result, only cancellation is raised.

        ``timeout`` in seconds replaces the caller's default.
        """
        ...
