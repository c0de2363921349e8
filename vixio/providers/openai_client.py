"""The HTTP client of an OpenAI-compatible server that a provider uses: creation, retries, closing.

It sends requests and reads answers itself, because OpenAI's own client takes more time for a
request than all the rest of a turn: it converts each field by its type, and sends a file in a dozen
pieces. Only the Responses API is used through that client. Importing this module is cheap.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.waiters import Waiters
from vixio.providers import openai_status

if TYPE_CHECKING:
    import httpx2

_log = logging.getLogger(__name__)

T = TypeVar("T")

OFFICIAL_URL: Final = "https://api.openai.com/v1"

_PAUSE: Final = 0.2
"""Seconds before a retry where the server names no ``Retry-After``."""

_LONGEST_PAUSE: Final = 2.0
"""Seconds. After a longer ``Retry-After`` there is no retry; the error carries the pause."""

_SPARE: Final = 5.0
"""Seconds that the client's timeouts exceed the provider's, so that the provider's come first."""

_DRAIN: Final = 0.1
"""Seconds to read the rest of a stream whose last event has come."""

MAX_CONNECTIONS: Final = 1_000
KEPT_CONNECTIONS: Final = 100
KEPT_S: Final = 50.0
"""How long an unused connection is kept: longer than users pause between two turns, since a new one
to a cloud service takes a tenth of a second or more. Services keep them for a minute or longer; one
that was closed meanwhile is noticed before it is used."""

File = tuple[str, bytes, str]
"""Name, content and media type of a file in a form."""


class OpenAIConnection(BaseModel):
    """Options of every provider that uses an OpenAI-compatible server. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str | None = Field(default=None, description="Of a compatible server, ending in /v1")
    api_key: SecretStr | None = Field(default=None, description="Default: OPENAI_API_KEY")
    connect_timeout: float = Field(default=5.0, gt=0)
    retries: int = Field(default=1, ge=0, le=5)
    """Retries after temporary errors: a refused connection, 429, 5xx."""
    extra_body: dict[str, Any] | None = None
    """Further fields of the request that are specific to one server."""


class ServerSettings(Protocol):
    """What the client needs to know; :class:`OpenAIConnection` and the agents' options have it."""

    @property
    def base_url(self) -> str | None: ...
    @property
    def api_key(self) -> SecretStr | None: ...
    @property
    def connect_timeout(self) -> float: ...
    @property
    def retries(self) -> int: ...


class SharedClient:
    """The client of one provider, with its pool of connections, for the whole process.

    ``section``: of the settings, as ``asr``; the error about a missing key names it.
    """

    def __init__(
        self, provider: str, section: str, settings: ServerSettings, *, timeout: float
    ) -> None:
        self._provider = provider
        self._section = section
        self._settings = settings
        self.timeout = timeout
        """Seconds that an answer, and each further part of it, may take."""
        self._client: httpx2.AsyncClient | None = None
        self._starting = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()
        self._called_off: set[asyncio.Task[Any]] = set()
        self._left = Waiters()
        self._closed = False

    async def start(self) -> None:
        """Create the client in a thread. Raises ProviderUnavailable without a key."""
        async with self._starting:
            self._not_closed()
            await asyncio.to_thread(self.open)

    def open(self) -> None:
        """Create the client, which takes tens of milliseconds: use a thread. Idempotent.

        Raises ProviderUnavailable without a key.
        """
        if self._client is None:
            self._client = self._make()

    @property
    def base_url(self) -> str:
        """The server's, ending in /v1: of the settings, of the environment, or OpenAI's own."""
        return self._settings.base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL_URL

    def check(self) -> None:
        """Raise ProviderError before :meth:`start` and after :meth:`close`."""
        self._not_closed()
        if self._client is None:
            raise self._gone("not started")

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    async def post_json(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        """Send ``body``; return the answer, its body unread. The caller closes it.

        ``path``: under the base URL. Raises ProviderError, also where the server refuses.
        """
        client = self._ready()
        return await self._send(client.build_request("POST", path, json=body, headers=headers))

    async def post_form(self, path: str, fields: Mapping[str, Any], file: File) -> httpx2.Response:
        """Send a form with ``file``; otherwise as :meth:`post_json`.

        Lists and mappings among the ``fields`` are sent with brackets, as OpenAI's servers read
        them: ``name[]``, ``name[key]``.
        """
        form = dict(_flat(fields.items()))
        client = self._ready()
        request = client.build_request("POST", path, data=form, files={"file": file})
        await request.aread()  # in one piece: sent in a dozen, it takes three times as long
        return await self._send(request)

    async def read(self, response: httpx2.Response) -> bytes:
        """Return the rest of the answer, and close it."""
        try:
            return await response.aread()
        finally:
            await response.aclose()

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        import httpx2

        try:
            response = await self._ready().send(request, stream=True)
        except (httpx2.ConnectTimeout, httpx2.PoolTimeout):
            raise openai_status.unreachable(self._provider, "no connection in time") from None
        except httpx2.TimeoutException:
            raise
        except httpx2.TransportError as error:
            cause = str(error) or type(error).__name__
            raise openai_status.unreachable(self._provider, cause) from error
        if response.is_success:
            return response
        body = await self.read(response)
        raise openai_status.of_body(self._provider, response.status_code, body, response.headers)

    # ── limits ───────────────────────────────────────────────────────────────────────────────

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await ``work``, which uses the client. :meth:`close` ends it.

        Cancellation cancels ``work`` and its request. Raises ProviderError, classified.
        """
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        cancelling = task.cancelling()
        self._running.add(task)
        try:
            return await work
        except asyncio.CancelledError:
            if task in self._called_off and task.uncancel() <= cancelling:
                raise self._gone("closed") from None
            raise
        except Exception as error:
            if self._closed:
                raise self._gone("closed") from None
            raise self._classified(error) from error
        finally:
            self._running.discard(task)
            self._called_off.discard(task)
            self._left.wake()

    async def retried(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Call :meth:`run`, with retries after temporary errors that ask for a short pause."""
        for left in range(self._settings.retries, -1, -1):
            try:
                return await self.run(work())
            except ProviderError as error:
                pause = _PAUSE if error.retry_after is None else error.retry_after
                again = error.retryable and not isinstance(error, ProviderTimeout)
                if not left or not again or pause > _LONGEST_PAUSE:
                    raise
                await asyncio.sleep(pause)
        raise AssertionError  # unreachable: the last try returns or raises

    async def bounded(self, work: Awaitable[T], what: str, seconds: float) -> T:
        """Await ``work`` for at most ``seconds``. Raises ProviderTimeout."""
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise ProviderTimeout(self._provider, what, seconds) from None

    async def close(self) -> None:
        """Fail the requests in progress and close the connections. Idempotent."""
        self._closed = True
        # The client closes idle connections only: the others end with their requests.
        for task in self._running - self._called_off:
            self._called_off.add(task)
            task.cancel()
        while self._running:
            await self._left.wait()
        async with self._starting:  # a start in progress leaves nothing behind
            client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _ready(self) -> httpx2.AsyncClient:
        self.check()
        assert self._client is not None  # noqa: S101 - checked
        return self._client

    def _not_closed(self) -> None:
        if self._closed:
            raise self._gone("closed")

    def _gone(self, state: str) -> ProviderError:
        return ProviderError(self._provider, f"it is {state}", retryable=False)

    def _wrong(self, what: str, reason: str) -> ProviderUnavailable:
        text = f"{what}; see {self._section} in the settings, or the environment"
        return ProviderUnavailable(self._provider, text, reason=reason)

    def _classified(self, error: Exception) -> ProviderError:
        import httpx2

        if isinstance(error, ProviderError):
            return error
        if isinstance(error, httpx2.TimeoutException):
            return ProviderTimeout(self._provider, "answer", self.timeout)
        text = f"{type(error).__name__}: {openai_status.one_line(str(error))}"
        return ProviderError(self._provider, text, reason="service")

    def _make(self) -> httpx2.AsyncClient:
        import httpx2

        settings = self._settings
        key = settings.api_key.get_secret_value() if settings.api_key is not None else ""
        # As OpenAI's client: the key of the environment, which a local server does not need.
        key = key or ("" if settings.base_url else os.environ.get("OPENAI_API_KEY", ""))
        if not (key or settings.base_url):
            raise ProviderUnavailable(
                self._provider,
                f"no key: set {self._section}.api_key, or OPENAI_API_KEY",
                reason="no_key",
            )
        if not (key.isascii() and key.isprintable()):  # a header cannot carry them
            raise self._wrong("the api_key has line breaks or letters that no key has", "no_key")
        headers = {"Authorization": f"Bearer {key or 'none'}"}
        for name, variable in _ACCOUNT_HEADERS:
            if not settings.base_url and (value := os.environ.get(variable)):
                headers[name] = value
        try:
            url = httpx2.URL(self.base_url)
        except httpx2.InvalidURL as error:
            raise self._wrong(f"the base_url is none: {error}", "no_model") from None
        client = httpx2.AsyncClient(
            base_url=url,
            headers=headers,
            timeout=httpx2.Timeout(self.timeout + _SPARE, connect=settings.connect_timeout),
            limits=connection_limits(),
            follow_redirects=True,
        )
        extra = {"provider": self._provider, "section": self._section}
        _log.debug("client created", extra=extra)
        return client


def connection_limits() -> httpx2.Limits:
    """Return the limits of a pool of connections to one server."""
    import httpx2

    return httpx2.Limits(
        max_connections=MAX_CONNECTIONS,
        max_keepalive_connections=KEPT_CONNECTIONS,
        keepalive_expiry=KEPT_S,
    )


_ACCOUNT_HEADERS: Final = (
    ("OpenAI-Organization", "OPENAI_ORG_ID"),
    ("OpenAI-Project", "OPENAI_PROJECT_ID"),
)


async def events(response: httpx2.Response, provider: str) -> AsyncIterator[dict[str, Any]]:
    """Yield the JSON objects of a stream of server-sent events. Raises ProviderError.

    An ``error`` among them is raised, ``[DONE]`` ends them. So is an answer that is no stream.
    """
    import httpx2

    if "json" in response.headers.get("content-type", ""):
        _no_stream(await response.aread(), provider)
    # Some servers name no content type or a wrong one, and the reader insists on it.
    response.headers["content-type"] = "text/event-stream"
    incoming = aiter(httpx2.EventSource(response))
    async for event in incoming:
        if not event.data:
            continue  # a sign of life: nothing to dispatch (HTML standard, section 9.2.6)
        if event.data.startswith("[DONE]"):
            # A connection is reused only if its response has been read to the end.
            with suppress(TimeoutError, httpx2.TransportError):
                async with asyncio.timeout(_DRAIN):
                    async for _ in incoming:
                        pass
            return
        try:
            body = json.loads(event.data)
        except ValueError:
            raise ProviderError(provider, "an event that is no JSON", reason="service") from None
        if not isinstance(body, dict):
            continue
        raise_error(body, provider)
        yield body


def _no_stream(answer: bytes, provider: str) -> None:
    """Raise ProviderError if ``answer`` is JSON; a stream that is only called so is not."""
    try:
        body = json.loads(answer)
    except ValueError:
        return
    if isinstance(body, dict):
        raise_error(body, provider)
    raise ProviderError(provider, "the server's answer is no stream", reason="service")


def raise_error(body: Mapping[str, Any], provider: str) -> None:
    """Raise the ``error`` of an answer or an event, as ProviderError; nothing if it has none."""
    if error := body.get("error"):
        known = error if isinstance(error, dict) else {"message": str(error)}
        code, message = str(known.get("code") or ""), str(known.get("message") or known)
        raise openai_status.of_code(provider, code, message)


def _flat(items: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - pairs of JSON
    """Return the fields of a form: text, or a list of texts, by names with brackets."""
    found: list[tuple[str, Any]] = []
    for name, value in items:
        if isinstance(value, Mapping):
            found += _flat((f"{name}[{key}]", below) for key, below in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            found.append((f"{name}[]", [_text(each) for each in value]))
        else:
            found.append((name, _text(value)))
    return found


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) or value is None else str(value)
