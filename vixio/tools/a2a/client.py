"""Sends the requests of A2A: to checked addresses, within bounds, to the agent's host only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote
from uuid import uuid4

from vixio.core.errors import ToolError
from vixio.core.event_stream import EventReader
from vixio.core.streams import closing
from vixio.core.strict_json import parse_json
from vixio.core.tools.types import JsonObject
from vixio.core.well_formed import well_formed
from vixio.tools.a2a.config import A2aConfig
from vixio.tools.a2a.protocol import Endpoint, Update, malformed, read_update
from vixio.tools.rest.client import INLINE_BYTES, PASSING, RestClient, read_body
from vixio.tools.rest.request import RestRequest

if TYPE_CHECKING:
    import httpx2

MAX_CONNECTIONS = 200
"""To one agent; each answer that is under way holds one."""

SILENCE_S = 60.0
"""Without a byte on an event stream, keep-alives included; then the task is asked for instead."""

_MAX_MESSAGE = 300

_METHODS = {
    # 1.0 and 0.3
    "send": ("SendMessage", "message/send"),
    "stream": ("SendStreamingMessage", "message/stream"),
    "get": ("GetTask", "tasks/get"),
    "cancel": ("CancelTask", "tasks/cancel"),
}


class AgentError(ToolError):
    """An error that the agent answered. ``of_the_task``: the task or context is not known to it,
    or takes no further message.
    """

    def __init__(self, message: str, *, of_the_task: bool = False, retryable: bool = False) -> None:
        super().__init__("failed", message, retryable=retryable)
        self.of_the_task = of_the_task


_OF_THE_TASK = {-32001, -32004, -32602}
"""TaskNotFound, UnsupportedOperation, InvalidParams (A2A 1.0 section 5.4)."""


class A2aClient:
    """The connections to one agent. All methods raise ToolError."""

    def __init__(self, config: A2aConfig) -> None:
        self._config = config
        self._http = RestClient(MAX_CONNECTIONS)

    async def card(self, url: str) -> object:
        """Return the JSON at ``url``."""
        limit = self._config.connect_timeout
        request = RestRequest("GET", url, self._headers("application/json"), None)
        async with self._http.open(
            request, timeout=limit, private=self._config.allow_private
        ) as answer:
            if answer.status_code == 404:
                raise ToolError("not_found", "there is no agent card at its URL (404)")
            _check(answer)
            return await _parse(await read_body(answer))

    async def send(
        self, endpoint: Endpoint, params: JsonObject, *, stream: bool, timeout: float
    ) -> AsyncIterator[Update]:
        """Send a message; yield what the agent answers. The last update is not always final.

        ``timeout``: seconds to wait for an answer that does not come as a stream.
        """
        method = "stream" if stream else "send"
        request = self._request(endpoint, method, params)
        limit = SILENCE_S if stream else timeout
        async with self._http.open(
            request, timeout=limit, private=self._config.allow_private
        ) as answer:
            kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "text/event-stream":
                yield await _whole(endpoint, answer)
                return
            _check(answer)
            async with closing(read_events(answer.aiter_bytes())) as events:
                async for data in events:
                    yield read_update(_result(endpoint, await _parse(data)))

    async def get(self, endpoint: Endpoint, task_id: str) -> Update:
        """Return the task as it is now."""
        return await self._ask(endpoint, "get", task_id)

    async def cancel(self, endpoint: Endpoint, task_id: str) -> Update:
        """Ask the agent to cancel the task."""
        return await self._ask(endpoint, "cancel", task_id)

    async def close(self) -> None:
        """Close all connections; later requests fail."""
        await self._http.close()

    async def _ask(self, endpoint: Endpoint, method: str, task_id: str) -> Update:
        request = self._request(endpoint, method, {"id": task_id})
        async with self._http.open(
            request,
            timeout=self._config.connect_timeout,
            private=self._config.allow_private,
        ) as answer:
            return await _whole(endpoint, answer)

    def _request(self, endpoint: Endpoint, method: str, params: JsonObject) -> RestRequest:
        headers = self._headers("application/json, text/event-stream")
        headers["A2A-Version"] = endpoint.version
        if endpoint.binding == "http+json" and method == "get":
            return RestRequest("GET", _rest_url(endpoint, method, params), headers, None)
        headers["Content-Type"] = "application/json"
        if endpoint.binding == "http+json":
            body = {} if method == "cancel" else params
            return RestRequest("POST", _rest_url(endpoint, method, params), headers, _dump(body))
        if endpoint.tenant:
            params = {"tenant": endpoint.tenant, **params}
        call = {
            "jsonrpc": "2.0",
            "id": uuid4().hex,
            "method": _METHODS[method][endpoint.old],
            "params": params,
        }
        return RestRequest("POST", endpoint.url, headers, _dump(call))

    def _headers(self, accept: str) -> dict[str, str]:
        # Not compressed, so that the bounds hold for what is read.
        return {"Accept": accept, "Accept-Encoding": "identity", **self._config.headers}


def _rest_url(endpoint: Endpoint, method: str, params: JsonObject) -> str:
    base = endpoint.url.rstrip("/")
    if endpoint.tenant:
        base = f"{base}/{quote(endpoint.tenant, safe='')}"
    if method in {"send", "stream"}:
        return f"{base}/message:{method}"
    task = quote(params["id"], safe="")
    return f"{base}/tasks/{task}" if method == "get" else f"{base}/tasks/{task}:cancel"


def _dump(value: JsonObject) -> bytes:
    return well_formed(json.dumps(value, ensure_ascii=False)).encode()


async def _whole(endpoint: Endpoint, answer: httpx2.Response) -> Update:
    """Read an answer that is one JSON object."""
    if endpoint.binding == "jsonrpc" or answer.is_success:
        _check(answer)
        return read_update(_result(endpoint, await _parse(await read_body(answer))))
    if answer.status_code in {401, 403}:
        _check(answer)
    raise await _http_error(answer.status_code, await read_body(answer))


def _check(answer: httpx2.Response) -> None:
    """Raise ToolError for an HTTP error. Its body is not quoted: it may contain the token."""
    status = answer.status_code
    if status in {401, 403}:
        raise ToolError("failed", f"the agent refuses the access ({status}): check its token")
    if not answer.is_success:
        raise ToolError("failed", f"the agent answers HTTP {status}", retryable=status in PASSING)


async def _parse(body: bytes | str) -> object:
    if len(body) > INLINE_BYTES:
        return await asyncio.to_thread(_load, body)
    return _load(body)


def _load(body: bytes | str) -> object:
    try:
        return parse_json(body)
    except (ValueError, RecursionError):
        raise ToolError("failed", "the agent's answer is not JSON") from None


def _result(endpoint: Endpoint, answer: object) -> object:
    """Return the result in an answer. Raises AgentError for an error in its place."""
    if not isinstance(answer, Mapping):
        raise malformed()
    error = answer.get("error")
    if isinstance(error, Mapping):
        code = error.get("code")
        raise AgentError(
            _words(error.get("message")),
            of_the_task=isinstance(code, int) and code in _OF_THE_TASK,
        )
    return answer if endpoint.binding == "http+json" else answer.get("result")


async def _http_error(status: int, body: bytes) -> AgentError:
    """Return the error of the HTTP+JSON binding (``google.rpc.Status``, A2A 1.0 section 11.6)."""
    try:
        answer = await _parse(body)
    except ToolError:
        answer = None
    error = answer.get("error") if isinstance(answer, Mapping) else None
    words = error.get("message") if isinstance(error, Mapping) else ""
    message = _words(words) if words else f"the agent answers HTTP {status}"
    return AgentError(message, of_the_task=status in {400, 404}, retryable=status in PASSING)


def _words(message: object) -> str:
    text = " ".join(message.split()) if isinstance(message, str) else ""
    text = well_formed(text)[:_MAX_MESSAGE]
    return f"the agent reports an error: {text}" if text else "the agent reports an error"


MAX_EVENT_BYTES = 1024 * 1024
MAX_STREAM_BYTES = 16 * 1024 * 1024
MAX_EVENTS = 50_000


async def read_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the data of each event in ``pieces``. Raises ToolError if they are too long."""
    reader = EventReader(MAX_EVENT_BYTES)
    size = events = 0
    async for piece in pieces:
        try:
            found = reader.feed(piece)
        except ValueError:
            raise _too_long() from None
        size += len(piece)
        events += len(found)
        if size > MAX_STREAM_BYTES or events > MAX_EVENTS:
            raise _too_long()
        for event in found:
            if event.data:  # else a sign of life
                yield event.data


def _too_long() -> ToolError:
    return ToolError("failed", "the agent's answer is too long")
