"""Assembles the API from its routes, and makes its document."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from vixio import __version__
from vixio.data.devices.records import NotKnown, RegistryError, TooManyTries
from vixio.settings.api import ApiSection
from vixio.transports.admission.access import RegistryUnavailable
from vixio.web.api.front import Front
from vixio.web.api.ports import Ports
from vixio.web.api.problems import Problem, ProblemDetails, response, too_many, unavailable
from vixio.web.api.routes import (
    access_points,
    assistant,
    control,
    conversations,
    devices,
    events,
    facts,
    firmware,
    logins,
    memory,
    papers,
    people,
    profile_forms,
    profile_versions,
    profiles,
    reminders,
    server,
    statistics,
    tokens,
    tools,
    trials,
    voices,
)
from vixio.web.api.service import ApiService

RESOURCES: Final = (
    devices,
    access_points,
    control,
    events,
    conversations,
    statistics,
    profile_forms,
    profiles,
    profile_versions,
    voices,
    trials,
    people,
    memory,
    facts,
    papers,
    reminders,
    firmware,
    tokens,
    logins,
    assistant,
    tools,
    server,
)

_DESCRIPTION: Final = """\
Everything that the commands of Vixio do with devices, and what a connected device can be asked to
do. Times are milliseconds since 1970, UTC. Errors are problem details (RFC 9457)."""

_SECURITY: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A personal token (`vixio api-tokens create`), or one of `POST /api/v1/login`. "
    "A device sends its own with the headers Device-Id and Client-Id.",
}


@functools.cache
def _routes() -> tuple[BaseRoute, ...]:
    """Return all routes; the servers of a process share them.

    They are not included as routers: FastAPI makes each route of an included one a second time, on
    the first request, in the event loop.
    """
    return tuple(route for each in RESOURCES for route in each.make_routes().router.routes)


def make_fastapi(settings: ApiSection, ports: Ports) -> FastAPI:
    """Return the routes as an application, without the checks of Front."""
    app = FastAPI(
        title="Vixio",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=list(_routes()),
    )
    for kind, answer in _ANSWERS.items():
        app.add_exception_handler(kind, answer)
    app.state.service = ApiService(settings, ports)
    app.state.document = Document(app)
    return app


def make_app(settings: ApiSection, ports: Ports) -> ASGIApp:
    """Return the API."""
    return Front(make_fastapi(settings, ports), settings, ports)


class Document:
    """The OpenAPI document: made once, in a thread, when it is first asked for."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._made: asyncio.Future[bytes] | None = None

    async def __call__(self) -> bytes:
        """Return it as JSON."""
        if self._made is None:
            self._made = asyncio.ensure_future(asyncio.to_thread(self._make))
        return await asyncio.shield(self._made)

    def _make(self) -> bytes:
        document: dict[str, Any] = self._app.openapi()
        components = document.setdefault("components", {})
        components.setdefault("schemas", {})["ProblemDetails"] = ProblemDetails.model_json_schema()
        components["securitySchemes"] = {"token": _SECURITY}
        return json.dumps(document, ensure_ascii=False).encode()


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - as it is registered
    return response(error)


async def _refused(request: Request, error: Exception) -> Response:
    match error:
        case NotKnown():
            return response(Problem(404, str(error)))
        case TooManyTries():
            return response(too_many(str(error), error.wait_s))
    return response(Problem(409, str(error)))


async def _unavailable(request: Request, error: Exception) -> Response:
    return response(unavailable("the database cannot be reached, try again"))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as it is registered
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return response(Problem(400, "the body is not JSON"))
    place = ".".join(str(part) for part in first["loc"][1:])
    return response(Problem(422, f"{place}: {first['msg']}" if place else str(first["msg"])))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as it is registered
    detail = {
        404: "nothing is here; /api/v1/openapi.json lists what there is",
        405: "this is not done by that method",
    }.get(error.status_code, str(error.detail))
    return response(Problem(error.status_code, detail, headers=error.headers))


_ANSWERS: Final[dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]]] = {
    Problem: _problem,
    RegistryError: _refused,
    RegistryUnavailable: _unavailable,
    RequestValidationError: _invalid,
    HTTPException: _http,
}
