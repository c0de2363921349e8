"""The health route: the state of the server as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vixio import __version__
from vixio.core.metrics import Counters

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

HEALTH_PATH = "/healthz"

Status = Callable[[], Mapping[str, Any] | Awaitable[Mapping[str, Any]]]
"""Returns the gauges that the page shows beside version and counters."""


def health_routes(status: Status, counters: Counters) -> Sequence[Route]:
    """Return the health page's route."""
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def health(request: Request) -> Response:
        page = {"status": "ok", "version": __version__, "counters": counters.snapshot()}
        gauges = status()
        more = gauges if isinstance(gauges, Mapping) else await gauges
        return JSONResponse({**page, **more})

    return [Route(HEALTH_PATH, health, methods=["GET"])]
