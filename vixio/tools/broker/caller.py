"""Calls one tool of a service on a broker."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Final

from vixio.bus.bus import ToolBus
from vixio.bus.calls import Route
from vixio.bus.wire import Request
from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject, ToolCallResult
from vixio.tools.broker.descriptors import Stream

_MAX_HEADER: Final = 200


@dataclass(frozen=True, slots=True)
class ServiceCaller:
    """A :class:`~vixio.core.tools.types.ToolCaller` for one tool: a service with a configuration.

    ``timeout``: seconds, where the caller gives none. ``stream``: whether the pieces of an answer
    are spoken as they come, or joined for the model.
    """

    bus: ToolBus
    route: Route
    config: JsonObject
    timeout: float
    idempotent: bool = False
    stream: Stream = "result"

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Call the service; see :class:`~vixio.core.tools.types.ToolCaller`."""
        context = context or ToolContext()
        headers = _headers(tool_name, context)
        if self.idempotent:
            headers["idempotent"] = "true"
        request = Request(context.user, self.config, arguments, headers)
        limit = self.timeout if timeout is None else timeout
        if self.stream != "say" or not context.can_speak:
            text = await self.bus.call(self.route, request, limit)
            return ToolCallResult("", success=True, result=text)
        heard = 0

        def say(piece: str) -> None:
            nonlocal heard
            heard += len(piece)
            context.stream(piece)

        try:
            text = await self.bus.call(self.route, request, limit, say)
        except ToolError as error:
            if heard:  # a second try would say it again
                raise ToolError(error.type, str(error)) from error
            raise
        return ToolCallResult("", success=True, result=text, spoken=True)


def _headers(tool: str, context: ToolContext) -> dict[str, str]:
    headers = {
        "tool": tool,
        "device": context.device_id,
        "session": context.session_id,
        "language": context.language,
        "traceparent": _traceparent(context),
    }
    # A header has no line break on any broker.
    return {name: " ".join(text.split())[:_MAX_HEADER] for name, text in headers.items() if text}


def _traceparent(context: ToolContext) -> str:
    """Return a trace context (W3C, version 00); the calls of one turn share the trace."""
    turn = f"{context.session_id}/{context.turn_id}".encode()
    trace = hashlib.sha256(turn).hexdigest()[:32] if context.session_id else secrets.token_hex(16)
    return f"00-{trace}-{secrets.token_hex(8)}-01"
