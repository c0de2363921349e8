"""A service that ready tools ask: requests, answers that are kept, and failures in words."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlencode

from vixio.core.errors import UNAVAILABLE, ToolError
from vixio.core.messages import message
from vixio.tools.rest.client import INLINE_BYTES, RestAnswer, RestClient
from vixio.tools.rest.request import RestRequest

T = TypeVar("T")

MAX_KEPT: Final = 256
"""Answers of one kind."""

FRESH: Final = 0.7
"""The share of its time after which an answer that is used is asked for anew, in the background."""

_AGENT: Final = "Mozilla/5.0 (compatible; Vixio)"
"""Some servers of feeds refuse a request without a browser's name."""


class Service:
    """``kind`` names it: ``weather``, ``news``, ``calendar`` or ``search``."""

    def __init__(self, kind: str, timeout: float) -> None:
        self.kind = kind
        self._timeout = timeout
        self._client = RestClient()
        self.private = True
        """Whether the service may be in the private network: not where a console user chose it."""

    async def get(self, url: str, **query: object) -> RestAnswer:
        """Return the whole answer. Raises ToolError, whose type is a key of :meth:`unreachable`."""
        if query:
            url += f"?{urlencode(query)}"
        return await self.send(RestRequest("GET", url, {}, None))

    async def send(self, request: RestRequest) -> RestAnswer:
        """Send a request; see :meth:`get`."""
        headers = {"User-Agent": _AGENT, "Accept": "*/*", **request.headers}
        request = RestRequest(request.method, request.url, headers, request.body)
        try:
            async with asyncio.timeout(self._timeout):
                # The settings have the host; neither a speaker nor a model can choose it.
                answer = await self._client.send(
                    request, timeout=self._timeout, private=self.private
                )
        except TimeoutError:
            raise ToolError("timeout", "no answer in time", retryable=True) from None
        match answer.status:
            case 401 | 403:
                raise ToolError("denied", f"the service answers {answer.status}")
            case 429:
                raise ToolError("busy", "the service answers 429", retryable=True)
            case status if status >= 400:
                raise ToolError("failed", f"the service answers {status}")
        return answer

    def unreachable(self, error: ToolError, language: str) -> ToolError:
        """Return a failure as one sentence for the user."""
        key = error.type if error.type in {"timeout", "disconnected", "denied", "busy"} else "other"
        words = message(f"service_{key}", language, service=message(f"the_{self.kind}", language))
        return ToolError(UNAVAILABLE, words, retryable=error.retryable)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()


async def as_json(answer: RestAnswer) -> Any:  # noqa: ANN401 - as the service writes it
    """Return a body of JSON. Raises ToolError."""
    try:
        if len(answer.body) > INLINE_BYTES:
            return await asyncio.to_thread(_loads, answer.body)
        return _loads(answer.body)
    except (ValueError, RecursionError):
        raise ToolError("failed", "the service's answer is not JSON") from None


def _loads(body: bytes) -> Any:  # noqa: ANN401 - as the service writes it
    import json

    return json.loads(body)


@dataclass(slots=True)
class _Kept(Generic[T]):
    value: T
    since: float


class Kept(Generic[T]):
    """Answers by key, each for ``seconds``, at most ``MAX_KEPT``; each is asked for once at a time.

    A request goes on when the call that began it is cancelled: its answer is used by the next one.
    Failures are not kept.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._kept: OrderedDict[Hashable, _Kept[T]] = OrderedDict()
        self._asking: dict[Hashable, asyncio.Task[T]] = {}

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what is kept for ``key``, else what ``ask`` returns; its errors are passed on."""
        kept = self._kept.get(key)
        age = self._clock() - kept.since if kept is not None else self._seconds
        if kept is None or age >= self._seconds:
            return await asyncio.shield(self._ask(key, ask))
        self._kept.move_to_end(key)
        if age >= FRESH * self._seconds:
            _ = self._ask(key, ask)  # in the background
        return kept.value

    def _ask(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.ensure_future(self._asked(key, ask))
            task.add_done_callback(_seen)
        return task

    async def _asked(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            value = await ask()
        finally:
            self._asking.pop(key, None)
        self._kept[key] = _Kept(value, self._clock())
        self._kept.move_to_end(key)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return value

    async def close(self) -> None:
        """End what is asked for."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._kept.clear()


def _seen(task: asyncio.Task[Any]) -> None:
    """Take the failure of a request that nobody waits for any more."""
    if not task.cancelled():
        task.exception()


def number_in(value: Mapping[str, Any], key: str) -> float:
    """Return a number of an answer. Raises ToolError."""
    found = value.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ToolError("failed", f"the service's answer has no {key}")
    return float(found)
