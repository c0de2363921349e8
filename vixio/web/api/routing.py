"""Adds routes: each with its rule of access and the errors that it can answer with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter, Depends

from vixio.web.api.access import RULES, Rule, public
from vixio.web.api.problems import MEDIA_TYPE

PREFIX: Final = "/api/v1"
ALWAYS: Final = (400, 403, 422, 429, 503)
BODY: Final = (413, 415)
PROBLEM: Final = {"$ref": "#/components/schemas/ProblemDetails"}


class Routes:
    """The routes of one resource."""

    def __init__(self, tag: str) -> None:
        self.router = APIRouter(prefix=PREFIX, tags=[tag])

    def add(
        self,
        method: str,
        path: str,
        endpoint: Callable[..., Any],
        access: Rule,
        *,
        status: int = 200,
        errors: Sequence[int] = (),
        documented: Mapping[int | str, Any] | None = None,
        **more: Any,  # noqa: ANN401 - options of FastAPI
    ) -> None:
        """Add a route. Its docstring is its description; ``errors``: beyond the usual ones;
        ``documented``: what the document says of other answers."""
        codes = {*ALWAYS, *errors}
        if method in ("POST", "PUT", "PATCH"):
            codes |= set(BODY)
        if access is not public:
            codes.add(401)
        extra = more.pop("openapi_extra", {}) | {"x-access": RULES[access]}
        if access is not public:
            extra["security"] = [{"token": []}]
        self.router.add_api_route(
            path,
            endpoint,
            methods=[method],
            status_code=status,
            dependencies=[Depends(access)],
            responses={**{code: _documented(code) for code in sorted(codes)}, **(documented or {})},
            openapi_extra=extra,
            **more,
        )


def _documented(code: int) -> dict[str, Any]:
    return {"description": HTTPStatus(code).phrase, "content": {MEDIA_TYPE: {"schema": PROBLEM}}}
