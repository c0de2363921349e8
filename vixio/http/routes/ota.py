"""The OTA routes: a device asks here for the WebSocket's address, and to be activated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING

from vixio.core.device import normalise_device_id
from vixio.http.ota import OtaSettings, ota_answer, stated_firmware
from vixio.transports.admission.addresses import Address, address_key, parse_address
from vixio.transports.admission.admission import Admission
from vixio.transports.admission.identity import MAX_ID_CHARS
from vixio.transports.admission.limits import KeyedBuckets

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

MAX_BODY_BYTES = 64 * 1024
"""A device's system information has about 2 KB."""


class OtaEndpoint:
    """Answers devices; limited by address, in all processes of the server together."""

    def __init__(self, settings: OtaSettings, admission: Admission) -> None:
        self._settings = settings
        self._auth = admission.settings.auth
        self._admission = admission
        self._counters = admission.counters
        self._proxies = admission.proxies
        self._buckets = KeyedBuckets(admission.limits.ota_per_address)
        self._cluster = admission.cluster
        self._cluster.limits.on_charge(
            "ota", lambda key, number: self._buckets.charge(key, number, monotonic())
        )

    def routes(self) -> Sequence[Route]:
        """Return the routes, each with and without a slash at its end."""
        from starlette.routing import Route

        path = self._settings.ota_path.rstrip("/")
        methods = ["GET", "POST"]
        return [
            *(Route(path + end, self.answer, methods=methods) for end in ("", "/") if path + end),
            *(Route(f"{path}/activate{end}", self.activate, methods=methods) for end in ("", "/")),
        ]

    async def answer(self, request: Request) -> Response:
        """Return what the device needs to connect."""
        from starlette.requests import ClientDisconnect
        from starlette.responses import JSONResponse

        self._counters.add("http.ota")
        if (refusal := self._refuse(request)) is not None:
            return refusal
        body = b""
        try:
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY_BYTES:
                    self._counters.add("http.ota.too_large")
                    return JSONResponse({"error": "the body is too large"}, status_code=413)
        except ClientDisconnect:
            return JSONResponse({}, status_code=400)  # the client is gone, nothing is sent
        if device_id := normalise_device_id(request.headers.get("device-id", "")):
            stated = stated_firmware(body, request.headers.get("user-agent", ""))
            self._admission.firmware.note(device_id[:MAX_ID_CHARS], stated)
        forwarded = self._settings.trust_forwarded or self._proxies.trusts(peer(request))
        return JSONResponse(
            ota_answer(
                self._settings,
                request.headers,
                body,
                own_host(request),
                trust_forwarded=forwarded,
                auth=self._auth,
            )
        )

    async def activate(self, request: Request) -> Response:
        """Return 200: activation is done. Anything else would make the device ask again."""
        from starlette.responses import JSONResponse

        return self._refuse(request) or JSONResponse({})

    def _refuse(self, request: Request) -> Response | None:
        from starlette.responses import JSONResponse

        client = self._proxies.client(peer(request), request.headers.getlist("x-forwarded-for"))
        if client is None:
            return None
        key = address_key(client)
        wait = self._buckets.take(key, monotonic())
        if not wait:
            self._cluster.limits.charge("ota", key)
            return None
        self._counters.add("http.limited.ota")
        self._admission.refused("http_ota", str(client))
        return JSONResponse(
            {"error": "too many requests"}, 429, {"Retry-After": str(math.ceil(wait))}
        )


def peer(request: Request) -> Address | None:
    """Return the address of the connection's other end."""
    return parse_address(request.client.host if request.client else "")


def own_host(request: Request) -> str:
    """Return the server's address of this connection, as it stands in a URL."""
    server = request.scope.get("server")
    host = str(server[0]) if server else "127.0.0.1"
    return f"[{host}]" if ":" in host else host
