"""The answer to a refused connection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from http import HTTPStatus


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP answer instead of the upgrade; ``reason`` names it for counters.

    ``retry_after``: seconds after which to try again, of a refusal that a limit made.
    """

    status: HTTPStatus
    reason: str
    message: str
    retry_after: float | None = None

    def counter(self, area: str) -> str:
        """Return the counter that counts it. ``area``: ``admission``, ``http`` or a transport."""
        kind = "refused" if self.retry_after is None else "limited"
        return f"{area}.{kind}.{self.reason}"

    @property
    def headers(self) -> dict[str, str]:
        """Headers besides the usual ones."""
        if self.retry_after is None:
            return {}
        return {"Retry-After": str(max(1, math.ceil(self.retry_after)))}

    def raw(self) -> bytes:
        """Return the whole answer, for a connection whose request is not read."""
        body = self.message.encode()
        head = f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\n"
        for name, value in {
            "Connection": "close",
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Length": str(len(body)),
            **self.headers,
        }.items():
            head += f"{name}: {value}\r\n"
        return f"{head}\r\n".encode() + body


def busy(reason: str, message: str, retry_after: float = 5.0) -> Refusal:
    """Return the 503 of a server that has no capacity now."""
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, reason, message, retry_after)


def too_many(reason: str, message: str, retry_after: float) -> Refusal:
    """Return the 429 for an address or device over its limit."""
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, reason, message, retry_after)
