"""The readiness route: whether this process should get new devices, for load balancers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vixio.core.readiness import Readiness

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

READY_PATH = "/readyz"


def ready_routes(readiness: Readiness) -> Sequence[Route]:
    """Return the readiness page's route: 200 if all checks pass, otherwise 503."""
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def ready(request: Request) -> Response:
        results = readiness.results()
        passed = all(each.ok for each in results)
        checks = [{"name": each.name, "ok": each.ok, "reason": each.reason} for each in results]
        return JSONResponse(
            {"ready": passed, "checks": checks},
            status_code=200 if passed else 503,
            headers={"Cache-Control": "no-store"},
        )

    return [Route(READY_PATH, ready, methods=["GET"])]
