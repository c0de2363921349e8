"""The messages of the tool-service wire, and their limits.

Bodies as TrustGraph has them (``ToolServiceRequest`` and ``ToolServiceResponse`` of its schema);
``config`` and ``arguments`` are objects written as text::

    request  {"user": "alice", "config": "{…}", "arguments": "{…}"}
    answer   {"error": null, "response": "text", "end_of_stream": false}    any number of them
    last     {"error": null or {"type", "message", "retryable"?}, "response": "…",
              "end_of_stream": true}
    cancel   {"id": "…"}    to every instance, on QUEUE.cancel

Headers of a request: ``id``, ``reply_to`` (where to answer; without it, the response queue of the
service), ``deadline`` (Unix time in ms), ``idempotent`` (``true``), ``tool``, ``device``,
``session``, ``language``, ``traceparent`` (W3C Trace Context). Of an answer: ``id``, ``seq`` (from
0), ``instance``. An answer without ``response`` and ``end_of_stream`` is a sign of life.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from vixio.core.errors import ToolError
from vixio.core.strict_json import depth_of, parse_json
from vixio.core.tools.types import JsonObject
from vixio.core.wall_clock import now_s
from vixio.core.well_formed import well_formed

MAX_ID_CHARS: Final = 200
MAX_ANSWER_CHARS: Final = 1_000_000
"""Of all pieces of one answer. The model gets ``max_result_chars`` of them."""

ERROR_TYPES: Final = frozenset(
    {"not_found", "invalid_arguments", "timeout", "disconnected", "failed", "busy", "denied"}
)
"""Types of :class:`~vixio.core.errors.ToolError` that a service may answer."""

EXPIRED: Final = "the call came after its deadline"
"""Message of the error for a request that was not executed because it came too late."""

_MAX_MESSAGE: Final = 500

_MAX_DEPTH: Final = 100
"""Levels of a message, well below what Python compares and prints without a RecursionError."""


class BadMessage(Exception):
    """A message that is not of the wire. Its text is not shown: it may contain a user's words."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call of a service. ``headers``: without ``id``, ``reply_to`` and ``deadline``."""

    user: str = ""
    config: JsonObject = field(default_factory=dict)
    arguments: JsonObject = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the body. Raises ToolError for values that are not JSON."""
        return dump(
            {"user": self.user, "config": _text(self.config), "arguments": _text(self.arguments)}
        )

    @classmethod
    def decode(cls, body: bytes, headers: Mapping[str, str]) -> Request:
        """Return the request in ``body``. Raises BadMessage."""
        message = load(body)
        user = message.get("user")
        if not isinstance(user, str | None):
            raise BadMessage("user")
        return cls(user or "", _object(message, "config"), _object(message, "arguments"), headers)

    @property
    def idempotent(self) -> bool:
        """Whether it may be executed again."""
        return self.headers.get("idempotent") == "true"


@dataclass(frozen=True, slots=True)
class Answer:
    """One message of an answer."""

    response: str = ""
    end_of_stream: bool = False
    error: ToolError | None = None

    def encode(self) -> bytes:
        """Return the body."""
        error = None
        if self.error is not None:
            error = {
                "type": self.error.type,
                "message": str(self.error)[:_MAX_MESSAGE],
                "retryable": self.error.retryable,
            }
        return dump(
            {"error": error, "response": self.response, "end_of_stream": self.end_of_stream}
        )

    @classmethod
    def decode(cls, body: bytes) -> Answer:
        """Return the message in ``body``. Raises BadMessage.

        A response that is not text is passed on as JSON. One without ``end_of_stream`` is the only
        one.
        """
        message = load(body)
        response = message.get("response")
        if not isinstance(response, str):
            response = "" if response is None else dump(response).decode()
        error = _error(message.get("error"))
        end = message.get("end_of_stream", True)
        return cls(response, end_of_stream=bool(end) or error is not None, error=error)


def dump(value: object) -> bytes:
    """Return ``value`` as JSON. Raises ToolError for what is not JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError("failed", f"not JSON: {type(error).__name__}") from error
    return well_formed(text).encode()


def load(body: bytes) -> JsonObject:
    """Return the JSON object in ``body``. Raises BadMessage."""
    try:
        message = parse_json(body)
    except (ValueError, RecursionError):
        raise BadMessage("not JSON") from None
    if not isinstance(message, dict):
        raise BadMessage("not an object")
    if depth_of(message) > _MAX_DEPTH:
        raise BadMessage("nested too deeply")
    return message


def deadline_after(seconds: float) -> str:
    """Return the header ``deadline`` for a limit of ``seconds`` from now."""
    return str(int((now_s() + seconds) * 1000))


def seconds_left(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until a message's deadline; None: it has none."""
    text = headers.get("deadline", "")
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        return None
    return int(text) / 1000 - now_s()


def call_id(headers: Mapping[str, str]) -> str:
    """Return the header ``id``. Raises BadMessage if it is missing or too long."""
    found = headers.get("id", "")
    if not 0 < len(found) <= MAX_ID_CHARS:
        raise BadMessage("id")
    return found


def _text(value: JsonObject) -> str:
    return dump(value).decode()


def _object(message: JsonObject, key: str) -> JsonObject:
    """Return a field that is an object written as text; empty if it is missing."""
    text = message.get(key)
    if not isinstance(text, str | None):
        raise BadMessage(key)
    return load(well_formed(text or "{}").encode())


def _error(value: Any) -> ToolError | None:  # noqa: ANN401 - what a service has sent
    if not value:
        return None
    if not isinstance(value, dict):
        return ToolError("failed", str(value)[:_MAX_MESSAGE])
    kind = value.get("type")
    message = value.get("message")
    words = message if isinstance(message, str) and message else "the service failed"
    return ToolError(
        kind if isinstance(kind, str) and kind in ERROR_TYPES else "failed",
        words[:_MAX_MESSAGE],
        retryable=value.get("retryable") is True,
    )


SIGN_OF_LIFE: Final = Answer().encode()
