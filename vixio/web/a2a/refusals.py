"""Refused requests, and their answers in the two forms of the protocol."""

from __future__ import annotations

import math
from typing import Any, Final

from starlette.responses import JSONResponse

PARSE_ERROR: Final = -32700
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
TASK_NOT_FOUND: Final = -32001
NOT_TAKEN: Final = -32005
NOT_ADMITTED: Final = -32000
"""Of the range that JSON-RPC leaves to servers."""


class Refused(Exception):
    """Ends a request. ``status``: of HTTP; ``code``: of JSON-RPC; ``reason``: of the counter."""

    def __init__(
        self, status: int, code: int, reason: str, message: str, retry_after: float = 0.0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.reason = reason
        self.headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        if retry_after:
            self.headers["Retry-After"] = str(math.ceil(retry_after))


def unauthorized() -> Refused:
    """The request has no valid token."""
    return Refused(401, NOT_ADMITTED, "unauthorized", "a valid bearer token is required")


def not_found(message: str) -> Refused:
    """There is no such agent."""
    return Refused(404, NOT_ADMITTED, "not_found", message)


def too_large(limit: int) -> Refused:
    """The body is too large."""
    return Refused(413, NOT_ADMITTED, "too_large", f"the request has more than {limit} bytes")


def too_many(message: str, retry_after: float = 1.0) -> Refused:
    """A limit of the caller is reached."""
    return Refused(429, NOT_ADMITTED, "too_many", message, retry_after)


def unavailable(message: str) -> Refused:
    """The process that has the context cannot be reached."""
    return Refused(503, NOT_ADMITTED, "unavailable", message, 1.0)


def malformed(message: str) -> Refused:
    """The body is no JSON."""
    return Refused(400, PARSE_ERROR, "malformed", f"the request cannot be read: {message}")


def invalid(message: str) -> Refused:
    """The message cannot be taken."""
    return Refused(400, INVALID_PARAMS, "invalid", message)


def not_taken(message: str) -> Refused:
    """The message has content of a kind that the agent does not take."""
    return Refused(415, NOT_TAKEN, "not_taken", message)


def task_not_found() -> Refused:
    """The caller has no such task."""
    return Refused(404, TASK_NOT_FOUND, "task_not_found", "Task not found")


def internal_error() -> Refused:
    """The server has a defect."""
    return Refused(500, INTERNAL_ERROR, "defect", "internal error")


def as_rpc(refused: Refused, request_id: Any) -> JSONResponse:  # noqa: ANN401 - it is checked here
    """Return the answer of the JSON-RPC endpoint; errors of the protocol have status 200."""
    known = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    body = {
        "jsonrpc": "2.0",
        "id": request_id if known else None,
        "error": {"code": refused.code, "message": str(refused)},
    }
    status = refused.status if refused.code == NOT_ADMITTED else 200
    return JSONResponse(body, status, refused.headers)


_STATUS: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    415: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def as_rest(refused: Refused) -> JSONResponse:
    """Return the answer of HTTP+JSON."""
    status = _STATUS[refused.status]
    error = {"code": refused.status, "status": status, "message": str(refused)}
    return JSONResponse({"error": error}, refused.status, refused.headers)
