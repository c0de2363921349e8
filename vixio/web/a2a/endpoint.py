"""The HTTP endpoint: cards, JSON-RPC of both versions, and HTTP+JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from a2a.compat.v0_3.extension_headers import LEGACY_HTTP_EXTENSION_HEADER
from a2a.compat.v0_3.jsonrpc_adapter import JSONRPC03Adapter
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.server.routes.rest_routes import create_rest_routes
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vixio.core.errors import describe
from vixio.core.metrics import Counters
from vixio.settings.a2a import A2ASection
from vixio.web.a2a import card, refusals
from vixio.web.a2a.call_context import Admitted, CallContextBuilder, attach
from vixio.web.a2a.callers import Scope
from vixio.web.a2a.devices import ABSENT, Devices
from vixio.web.a2a.error_words import in_own_words
from vixio.web.a2a.event_stream import EventStream
from vixio.web.a2a.front import Front
from vixio.web.a2a.handlers import Handler, Handler03
from vixio.web.a2a.incoming import EXTENSION
from vixio.web.a2a.places import Places, digest, digest_of_task
from vixio.web.a2a.refusals import Refused

PATH: Final = "/a2a"
PASSED_ON: Final = "vixio.passed_on"
"""In the ASGI scope of a request that another process has passed on."""

_SEND: Final = frozenset({"SendMessage", "SendStreamingMessage", "message/send", "message/stream"})
_STREAM: Final = frozenset(
    {"SendStreamingMessage", "SubscribeToTask", "message/stream", "tasks/resubscribe"}
)

_log = logging.getLogger(__name__)

Answer = Callable[[Request], Awaitable[Response]]

BaseUrl = Callable[[Request], str]
"""Returns the server's URL, without a path, as the client of a request reaches it."""


class Endpoint:
    """Checks requests, and has the A2A library answer them; or another process."""

    def __init__(
        self,
        settings: A2ASection,
        handler: Handler,
        front: Front,
        places: Places,
        devices: Devices,
        counters: Counters,
        base_url: BaseUrl,
    ) -> None:
        self._settings = settings
        self._front = front
        self._places = places
        self._devices = devices
        self._counters = counters
        self._base_url = base_url
        builder = CallContextBuilder()
        self._rpc_1_0 = JsonRpcDispatcher(handler, builder)
        self._rpc_0_3 = JSONRPC03Adapter(handler, builder)
        self._rpc_0_3.handler = Handler03(handler)
        self._rest = [
            route for route in create_rest_routes(handler, builder) if isinstance(route, Route)
        ]

    def routes(self) -> Sequence[Route]:
        """Return the routes: those of the assistant, and the same below each device."""
        well_known = "/.well-known/agent-card.json"
        routes: list[Route] = [
            Route(well_known, self._assistant_card),
            Route(PATH + well_known, self._assistant_card),
            Route(PATH + "/devices/{device}" + well_known, self._device_card),
        ]
        for prefix in (PATH, PATH + "/devices/{device}"):
            routes += [Route(path, self._rpc, methods=["POST"]) for path in (prefix, f"{prefix}/")]
            routes += [
                Route(prefix + card.REST + each.path, self._rest_answer(each), methods=each.methods)
                for each in self._rest
            ]
        return routes

    # ── cards ────────────────────────────────────────────────────────────────────────────────

    async def _assistant_card(self, request: Request) -> Response:
        self._counters.add("a2a.cards")
        return JSONResponse(card.assistant_card(self._settings, self._base_url(request) + PATH))

    async def _device_card(self, request: Request) -> Response:
        self._counters.add("a2a.cards")
        try:
            scope = self._front.scope(request)
            agent = await self._devices.describe(scope.device)
            if agent is None:
                raise refusals.not_found(ABSENT)
        except Refused as refused:
            return self._refuse(refused, refusals.as_rest(refused))
        url = f"{self._base_url(request)}{PATH}/devices/{scope.device}"
        return JSONResponse(card.device_card(self._settings, agent, url))

    # ── JSON-RPC ─────────────────────────────────────────────────────────────────────────────

    async def _rpc(self, request: Request) -> Response:
        self._counters.add("a2a.requests")
        request_id: Any = None
        try:
            scope = self._front.scope(request, passed_on=_passed_on(request))
            raw = await self._front.body(request)
            body = await self._front.json(raw)
            request_id = body.get("id") if isinstance(body, dict) else None
            method, params = _call(body)
            if isinstance(method, str) and method in _SEND:
                params = _with_message(params)
            place = _digest_in(params)
            if await self._is_elsewhere(request, scope, place):
                self._counters.add("a2a.passed_on")
                return await self._places.pass_on(request, raw, scope, place)
            admitted = Admitted(scope)
            whole = _is_rpc(body)
            if whole and method in _SEND:
                if not isinstance(params, dict):
                    raise refusals.invalid("params must be an object")
                admitted, message = await self._front.message(
                    scope, params.get("message"), raw, old=self._rpc_0_3.supports_method(method)
                )
                body = {**body, "params": {**params, "message": message}}
            inner = _with_body(request, admitted, body)

            async def answer() -> Response:
                if whole and self._rpc_0_3.supports_method(method):
                    old: Response = await self._rpc_0_3.handle_request(
                        request_id, method, body, inner
                    )
                    return old
                return await self._rpc_1_0.handle_requests(inner)

            streams = whole and method in _STREAM
            return await self._answered(request, scope, answer, streams=streams)
        except Refused as refused:
            return self._refuse(refused, refusals.as_rpc(refused, request_id))
        except Exception as error:  # noqa: BLE001 - a defect costs one request
            return refusals.as_rpc(self._defect(error), request_id)

    # ── HTTP+JSON ────────────────────────────────────────────────────────────────────────────

    def _rest_answer(self, route: Route) -> Answer:
        answer: Answer = route.endpoint
        sends = "/message:" in route.path
        streams = route.path.endswith((":stream", ":subscribe"))

        async def endpoint(request: Request) -> Response:
            self._counters.add("a2a.requests")
            try:
                scope = self._front.scope(request, passed_on=_passed_on(request))
                raw = await self._front.body(request)
                body = await self._front.json(raw) if raw or sends else None
                if sends:
                    body = _with_message(body)
                place = _digest_of_task_or_context(request, body)
                if await self._is_elsewhere(request, scope, place):
                    self._counters.add("a2a.passed_on")
                    return await self._places.pass_on(request, raw, scope, place)
                admitted = Admitted(scope)
                if sends:
                    body = body if isinstance(body, dict) else {}
                    admitted, message = await self._front.message(scope, body.get("message"), raw)
                    body = {**body, "message": message}
                inner = _with_body(request, admitted, body)
                return await self._answered(request, scope, lambda: answer(inner), streams=streams)
            except Refused as refused:
                return self._refuse(refused, refusals.as_rest(refused))
            except Exception as error:  # noqa: BLE001 - a defect costs one request
                return refusals.as_rest(self._defect(error))

        return endpoint

    # ── both ─────────────────────────────────────────────────────────────────────────────────

    async def _is_elsewhere(self, request: Request, scope: Scope, place: str) -> bool:
        own = not place or _passed_on(request)
        return not own and await self._places.is_elsewhere(scope, place)

    async def _answered(
        self,
        request: Request,
        scope: Scope,
        answer: Callable[[], Awaitable[Response]],
        *,
        streams: bool,
    ) -> Response:
        """Have the library answer; return its response as it is sent. Raises Refused."""
        response: Response | None = None
        if streams:
            self._front.open_stream(scope)  # before the library begins the task
        try:
            response = await answer()
            if isinstance(response, EventSourceResponse):
                response = EventStream(
                    response.body_iterator, lambda: self._front.close_stream(scope)
                )
            elif isinstance(response, JSONResponse):
                response = in_own_words(response)
        finally:
            if streams and not isinstance(response, EventStream):
                self._front.close_stream(scope)
        for name in (HTTP_EXTENSION_HEADER, LEGACY_HTTP_EXTENSION_HEADER):
            if EXTENSION in get_requested_extensions(request.headers.getlist(name)):
                response.headers[name] = EXTENSION
        return response

    def _defect(self, error: Exception) -> Refused:
        self._counters.add("a2a.defects")
        _log.error("A2A request failed", extra={"error": describe(error)})
        return refusals.internal_error()

    def _refuse(self, refused: Refused, response: Response) -> Response:
        self._counters.add(f"a2a.refused.{refused.reason}")
        _log.debug("A2A request refused", extra={"reason": refused.reason})
        if refused.status in (401, 413):
            response.headers["Connection"] = "close"  # there may be more of it
        return response


def _passed_on(request: Request) -> bool:
    return bool(request.scope.get(PASSED_ON))


def _is_rpc(body: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Whether a body is a JSON-RPC request; of others the library says what is wrong (-32600)."""
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        return False
    request_id = body.get("id")
    known = request_id is None or (
        isinstance(request_id, str | int) and not isinstance(request_id, bool)
    )
    return known and isinstance(body.get("method"), str)


def _call(body: Any) -> tuple[Any, Any]:  # noqa: ANN401 - any JSON value
    """Return method and parameters of a JSON-RPC request; the library finds what is wrong."""
    if not isinstance(body, dict):
        return None, None
    return body.get("method"), body.get("params")


def _with_message(params: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the parameters of a message; the source document's client sends the message itself."""
    if isinstance(params, dict) and "parts" in params and "message" not in params:
        return {"message": params}
    return params


def _digest_in(params: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the digest of the context that a request is about; empty: of none."""
    if not isinstance(params, dict):
        return ""
    message = params.get("message")
    for place in (message, params):
        if not isinstance(place, dict):
            continue
        task_id = place.get("taskId") or (place.get("id") if place is params else None)
        if isinstance(task_id, str) and task_id:
            return digest_of_task(task_id)
        if isinstance(context_id := place.get("contextId"), str) and context_id:
            return digest(context_id)
    return ""


def _digest_of_task_or_context(request: Request, body: Any) -> str:  # noqa: ANN401 - any JSON value
    if task_id := request.path_params.get("id"):
        return digest_of_task(task_id)
    if context_id := request.query_params.get("contextId"):
        return digest(context_id)
    return _digest_in(body)


def _with_body(request: Request, admitted: Admitted, body: Any) -> Request:  # noqa: ANN401 - any JSON value
    """Return the request as the library gets it."""
    data = b"" if body is None else json.dumps(body).encode()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    return Request(attach(dict(request.scope), admitted), receive)
