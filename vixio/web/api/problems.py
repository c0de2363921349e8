"""Errors as problem details (RFC 9457): one shape, one line for people, never a traceback."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, Field
from starlette.responses import Response

from vixio.core.well_formed import well_formed

MEDIA_TYPE: Final = "application/problem+json"


class ProblemDetails(BaseModel):
    """What went wrong."""

    title: str = Field(description="The words of the status.")
    status: int
    detail: str = Field(description="One line for a person: what is wrong and what to do.")
    last_seen: int | None = Field(
        default=None,
        description="Of a device that is not connected: milliseconds since 1970; 0: never.",
    )
    mistakes: list[dict[str, str | int]] | None = Field(
        default=None,
        description="Of settings: `path` and `message` of each; of a paste: `message`, and the "
        "`line` and `column` where it is, from 1, or 0.",
    )
    reason: str | None = Field(
        default=None, description="Of a server: no_key, unreachable …; of a save: not_started"
    )


class Problem(Exception):
    """A request that is answered with an error."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,  # noqa: ANN401 - JSON
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.more = more


def response(problem: Problem) -> Response:
    """Return the answer for a problem."""
    body = {
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": " ".join(problem.detail.split()),
        **problem.more,
    }
    return Response(
        well_formed(json.dumps(body, ensure_ascii=False)).encode(),
        problem.status,
        problem.headers,
        MEDIA_TYPE,
    )


def unauthorized() -> Problem:
    """Return the answer to a request without a valid token."""
    return Problem(
        401,
        "send a valid token, as `Authorization: Bearer ...`; `vixio api-tokens create` makes one",
        headers={"WWW-Authenticate": "Bearer"},
    )


def too_many(detail: str, wait_s: float) -> Problem:
    """Return the answer to a request above a limit."""
    return Problem(429, detail, headers={"Retry-After": str(max(1, math.ceil(wait_s)))})


def unavailable(detail: str, wait_s: int = 5) -> Problem:
    """Return the answer to a request that cannot be served for the moment."""
    return Problem(503, detail, headers={"Retry-After": str(wait_s)})
