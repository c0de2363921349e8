"""The OTA routes: a device asks here for the WebSocket's address, and to be activated."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from vixio.transports.admission.access import (
    OPEN_DOOR,
    Activation,
    OtaDecision,
    RegistryUnavailable,
)
from vixio.transports.admission.addresses import Address, address_key, parse_address
from vixio.transports.admission.admission import Admission
from vixio.transports.admission.firmware import Firmware
from vixio.transports.admission.forwarded import stated_clients
from vixio.transports.admission.identity import MAX_ID_CHARS, Identity
from vixio.transports.admission.limits import KeyedBuckets
from vixio.web.http.firmware_offer import FirmwareOffers
from vixio.web.http.ota import OtaSettings, ota_answer, read_ota_request

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

MAX_BODY_BYTES = 64 * 1024
"""A device's system information has about 2 KB."""

ASK_AGAIN_S = 10
"""Of a device that comes while the registry cannot be used."""

_log = logging.getLogger(__name__)

_STATUS = {Activation.DONE: 200, Activation.WAITING: 202, Activation.REFUSED: 403}
"""Of `/activate`: 202 has the firmware ask again after 3 s, anything else after 10 s."""


class OtaEndpoint:
    """Answers devices; limited by address, in all processes of the server together."""

    def __init__(
        self, settings: OtaSettings, admission: Admission, offers: FirmwareOffers | None = None
    ) -> None:
        self._settings = settings
        self._offers = offers
        self._access = admission.settings.access
        self._admission = admission
        self._counters = admission.counters
        self._proxies = admission.proxies
        limits = admission.limits
        self._cluster = admission.cluster
        self._buckets = {
            "ota": KeyedBuckets(limits.ota_per_address),
            "activate": KeyedBuckets(limits.activations_per_address),
        }
        for name, buckets in self._buckets.items():
            self._cluster.limits.on_charge(name, partial(_charge, buckets))

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
        """Return what the device needs to connect, or the notice that it has to show."""
        from starlette.responses import JSONResponse

        self._counters.add("http.ota")
        if (refusal := self._refuse(request, "ota")) is not None:
            return refusal
        body = await self._body(request)
        if not isinstance(body, bytes):
            return body
        identity = _identity(request)
        if identity is None:
            return _bad_identity()
        address = self._address(request) or peer(request)
        ota_request = read_ota_request(identity, request.headers, body, str(address or ""))
        decision = OPEN_DOOR
        if ota_request.device_id:
            stated = Firmware(ota_request.board, ota_request.firmware)
            self._admission.firmware.note(ota_request.device_id, stated)
            try:
                decision = await self._access.decide(ota_request)
            except RegistryUnavailable:
                return self._unavailable()
            self._log_notice(decision, identity, str(address or ""))
        elif not self._access.admits_strangers:
            return _bad_identity()
        forwarded = self._settings.trust_forwarded or self._proxies.trusts(peer(request))
        firmware = None
        if self._offers is not None and ota_request.device_id and decision.admitted:
            firmware = await self._offers.section(
                ota_request, body, request.headers, own_host(request), trust_forwarded=forwarded
            )
        answer = ota_answer(
            self._settings,
            request.headers,
            body,
            own_host(request),
            trust_forwarded=forwarded,
            decision=decision,
            firmware=firmware,
            identity=identity,
        )
        if decision.mqtt and self._settings.mqtt_port and "mqtt" not in answer:
            self._counters.add("http.ota.no_mqtt")
            if self._counters.get("http.ota.no_mqtt") == 1:
                _log.warning(
                    "device stays with WebSocket: MQTT needs a Client-Id, and an IPv4 address or a "
                    "host name by which it came",
                    extra={"device": identity.device_id},
                )
        return JSONResponse(answer)

    async def activate(self, request: Request) -> Response:
        """Say whether the device is claimed: 200, not yet: 202, refused: 403."""
        from starlette.responses import JSONResponse

        if (refusal := self._refuse(request, "activate")) is not None:
            return refusal
        body = await self._body(request)
        if not isinstance(body, bytes):
            return body
        identity = _identity(request)
        if identity is None or not identity.device_id:
            if identity is not None and self._access.admits_strangers:
                return JSONResponse({})
            return _bad_identity()
        try:
            state = await self._access.activate(identity.device_id, identity.client_id, body)
        except RegistryUnavailable:
            return self._unavailable()
        self._counters.add(f"http.activate.{state}")
        return JSONResponse({}, _STATUS[state])

    async def _body(self, request: Request) -> bytes | Response:
        """Return the body, or the answer to a request without a usable one."""
        from starlette.requests import ClientDisconnect
        from starlette.responses import JSONResponse

        body = b""
        try:
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY_BYTES:
                    self._counters.add("http.ota.too_large")
                    return JSONResponse({"error": "the body is too large"}, status_code=413)
        except ClientDisconnect:
            return JSONResponse({}, status_code=400)  # the client is gone, nothing is sent
        return body

    def _log_notice(self, decision: OtaDecision, identity: Identity, address: str) -> None:
        """Log that a device is not let in: for whoever looks for the reason."""
        if not decision.admitted:
            self._counters.add("http.ota.not_admitted")
            reason = "waits_for_claim" if decision.code else "not_admitted"
            self._admission.refused(reason, address, identity.device_id)

    def _unavailable(self) -> Response:
        from starlette.responses import JSONResponse

        self._counters.add("http.ota.unavailable")
        return JSONResponse(
            {"error": "the registry of devices cannot be reached, try again"},
            503,
            {"Retry-After": str(ASK_AGAIN_S)},
        )

    def _address(self, request: Request) -> Address | None:
        return self._proxies.client(peer(request), stated_clients(request.headers.getlist))

    def _refuse(self, request: Request, what: str) -> Response | None:
        from starlette.responses import JSONResponse

        client = self._address(request)
        if client is None:
            return None
        key = address_key(client)
        wait = self._buckets[what].take(key, monotonic())
        if not wait:
            self._cluster.limits.charge(what, key)
            return None
        self._counters.add(f"http.limited.{what}")
        self._admission.refused(f"http_{what}", str(client))
        return JSONResponse(
            {"error": "too many requests"}, 429, {"Retry-After": str(math.ceil(wait))}
        )


def _charge(buckets: KeyedBuckets, key: str, number: int) -> None:
    buckets.charge(key, number, monotonic())


def _identity(request: Request) -> Identity | None:
    """Return who asks; None if the ids are malformed."""
    headers = request.headers
    client_id = headers.get("client-id", "").strip()
    identity = Identity.stated(headers.get("device-id", ""), client_id, "")
    return identity if identity.well_formed else None


def _bad_identity() -> Response:
    from starlette.responses import JSONResponse

    words = f"send Device-Id and Client-Id, of at most {MAX_ID_CHARS} printable characters"
    return JSONResponse({"error": words}, status_code=400)


def peer(request: Request) -> Address | None:
    """Return the address of the connection's other end."""
    return parse_address(request.client.host if request.client else "")


def own_host(request: Request) -> str:
    """Return the server's address of this connection, as it stands in a URL."""
    server = request.scope.get("server")
    host = str(server[0]) if server else "127.0.0.1"
    return f"[{host}]" if ":" in host else host
