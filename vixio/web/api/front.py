"""The checks that each request passes before FastAPI sees it."""

from __future__ import annotations

import logging
import re
from functools import partial
from time import monotonic
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vixio.core.errors import describe
from vixio.settings.api import ApiSection
from vixio.transports.admission.addresses import Address, address_key, parse_address
from vixio.transports.admission.forwarded import stated_clients
from vixio.transports.admission.limits import KeyedBuckets
from vixio.web.api.ports import Ports
from vixio.web.api.problems import Problem, response, too_many

MAX_BODY_BYTES: Final = 64 * 1024
"""Of JSON. Uploads are read by their route, piece by piece."""

UPLOADS: Final = re.compile(r"/api/v1/(firmware/images|papers|devices/[^/]+/picture)")

HEADERS: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""Of all answers: some hold a token."""

LIMIT: Final = "api"

_log = logging.getLogger(__name__)


class Front:
    """Passes requests on to ``app``, and answers those that must not get there."""

    def __init__(self, app: ASGIApp, settings: ApiSection, ports: Ports) -> None:
        self._app = app
        self._ports = ports
        self._buckets = KeyedBuckets(settings.requests_per_minute)
        limits = ports.cluster.limits
        limits.on_charge(LIMIT, partial(_charge, self._buckets))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = True
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        try:
            self._check(request)
            upload = scope["method"] == "POST" and UPLOADS.fullmatch(scope["path"])
            passed_on = receive if upload else await self._read(request)
            await self._app(scope, passed_on, noting)
        except Problem as problem:
            self._ports.counters.add(f"api.refused.{problem.status}")
            await response(problem)(scope, receive, noting)
        except ClientDisconnect:
            pass  # nothing can be sent
        except Exception as error:  # noqa: BLE001 - a defect of a route must not end the connection unanswered
            self._ports.counters.add("api.failed")
            _log.error("a request failed", extra={"error": describe(error)})
            if not started:
                await response(Problem(500, "internal error"))(scope, receive, noting)

    def _check(self, request: Request) -> None:
        ports, headers = self._ports, request.headers
        if not ports.hosts.allows(headers.get("host", "")):
            raise Problem(
                403,
                "this name is none of the server's: call it by its address, or list the name in "
                "api.hosts",
            )
        if not ports.origins.allows(headers.getlist("origin"), headers.getlist("host")):
            raise Problem(
                403,
                "web pages of another origin may not use the API; to allow one, list its origin "
                "in server.allowed_origins",
            )
        address = client(request, ports)
        if address is not None:
            key = address_key(address)
            wait = self._buckets.take(key, monotonic())
            if wait:
                raise too_many("too many requests of this address, try again later", wait)
            ports.cluster.limits.charge(LIMIT, key)

    async def _read(self, request: Request) -> Receive:
        """Return the body as one message."""
        pieces: list[bytes] = []
        size = 0
        async for piece in request.stream():
            pieces.append(piece)
            size += len(piece)
            if size > MAX_BODY_BYTES:
                raise Problem(
                    413,
                    f"the body has more than {MAX_BODY_BYTES} bytes",
                    headers={"Connection": "close"},
                )
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if size and kind != "application/json":
            raise Problem(415, "send JSON, with `Content-Type: application/json`")
        messages: list[Message] = [
            {"type": "http.request", "body": b"".join(pieces), "more_body": False}
        ]

        async def replay() -> Message:
            return messages.pop() if messages else await request.receive()

        return replay


def client(request: Request, ports: Ports) -> Address | None:
    """Return the client's address; None behind a proxy that states none."""
    peer = parse_address(request.client.host if request.client else "")
    return ports.proxies.client(peer, stated_clients(request.headers.getlist))


def _charge(buckets: KeyedBuckets, key: str, number: int) -> None:
    buckets.charge(key, number, monotonic())
