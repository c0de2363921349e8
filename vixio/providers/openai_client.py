"""The HTTP client of an OpenAI-compatible server that a provider uses: creation, retries, closing.

It sends requests itself, by aiohttp, because OpenAI's own client takes more time for a request than
all the rest of a turn: it converts each field by its type, sends a file in a dozen pieces, and its
HTTP library looks at all kept connections before each request. Only the Responses API is used
through that client. Importing this module is cheap.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import platform
import re
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from vixio.core.environment_proxy import EnvironmentProxy, proxy_for
from vixio.core.errors import ConfigError, ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.waiters import Waiters
from vixio.core.well_formed import well_formed
from vixio.providers import openai_status
from vixio.providers.openai_answer import ServerAnswer, explained, listed_models, lists_models
from vixio.providers.openai_form import form_fields
from vixio.providers.openai_url import BaseUrl, checked_base_url

if TYPE_CHECKING:
    import aiohttp
    import yarl

_log = logging.getLogger(__name__)

T = TypeVar("T")

OFFICIAL_URL: Final = "https://api.openai.com/v1"

_PAUSE: Final = 0.2
"""Seconds before a retry where the server names no ``Retry-After``."""

_LONGEST_PAUSE: Final = 2.0
"""Seconds. After a longer ``Retry-After`` there is no retry; the error carries the pause."""

_SPARE: Final = 5.0
"""Seconds that the client's timeouts exceed the provider's, so that the provider's come first."""

MAX_CONNECTIONS: Final = 1_000
KEPT_S: Final = 50.0
"""How long an unused connection is kept: longer than users pause between two turns, since a new one
to a cloud service takes a tenth of a second or more. Services keep them for a minute or longer; one
that was closed meanwhile is noticed before it is used."""

_VERSION: Final = re.compile(r"v\d.*")
"""The part of a path that is an API's version: ``v1``, ``v4`` (Zhipu), ``v1beta`` (Gemini)."""
_IN_ONE_PIECE: Final = 2**20
"""Bytes of a body above which it is written in pieces, since each write blocks the loop."""

File = tuple[str, bytes, str]
"""Name, content and media type of a file in a form."""


class OpenAIConnection(BaseModel):
    """Options of every provider that uses an OpenAI-compatible server. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: BaseUrl | None = Field(
        default=None, description="Of a compatible server, ending in /v1"
    )
    api_key: SecretStr | None = Field(default=None, description="Default: OPENAI_API_KEY")
    connect_timeout: float = Field(default=5.0, gt=0)
    retries: int = Field(default=1, ge=0, le=5)
    """Retries after temporary errors: a refused connection, 429, 5xx."""
    extra_body: dict[str, Any] | None = None
    """Further fields of the request that are specific to one server."""


@dataclass(frozen=True, slots=True)
class _Server:
    """Where requests go, and how."""

    url: yarl.URL
    headers: Mapping[str, str]
    tls: ssl.SSLContext | bool
    proxy: EnvironmentProxy | None

    @property
    def proxy_url(self) -> str | None:
        """As the HTTP library takes it."""
        return self.proxy.url if self.proxy is not None else None


class SharedClient:
    """The client of one provider, with its pool of connections, for the whole process.

    ``section``: of the settings, as ``asr``; the error about a missing key names it.
    """

    def __init__(
        self, provider: str, section: str, settings: OpenAIConnection, *, timeout: float
    ) -> None:
        self._provider = provider
        self._section = section
        self._settings = settings
        self.timeout = timeout
        """Seconds that an answer, and each further part of it, may take."""
        self._server: _Server | None = None
        self._session: aiohttp.ClientSession | None = None
        self._starting = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()
        self._called_off: set[asyncio.Task[Any]] = set()
        self._left = Waiters()
        self._closed = False

    async def start(self) -> None:
        """Prepare the client, in a thread. Raises ProviderUnavailable without a key."""
        async with self._starting:
            self._not_closed()
            await asyncio.to_thread(self.open)

    def open(self) -> None:
        """Prepare the client, which takes tenths of a second: use a thread. Idempotent.

        Raises ProviderUnavailable without a key.
        """
        if self._server is None:
            self._server = self._read_settings()

    @property
    def base_url(self) -> str:
        """The server's, ending in /v1: of the settings, of the environment, or OpenAI's own."""
        return self._settings.base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL_URL

    @property
    def service(self) -> openai_status.Service:
        """The server, for messages."""
        host = urlsplit(self.base_url).netloc.rpartition("@")[2]
        proxy = self._server.proxy if self._server is not None else None
        return openai_status.Service(self._provider, self._section, host, proxy)

    def check(self) -> None:
        """Raise ProviderError before :meth:`start` and after :meth:`close`."""
        self._not_closed()
        if self._server is None:
            raise self._gone("not started")

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    async def post_json(self, path: str, body: Mapping[str, Any]) -> ServerAnswer:
        """Send ``body``; return the answer, its body unread. The caller closes it.

        ``path``: under the base URL. Raises ProviderError, also where the server refuses.
        """
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        # Half a surrogate pair, from an answer that was cut in an emoji, is no UTF-8.
        return await self._post(path, well_formed(text).encode(), "application/json")

    async def post_form(self, path: str, fields: Mapping[str, Any], file: File) -> ServerAnswer:
        """Send a form with ``file``; otherwise as :meth:`post_json`.

        Lists and mappings among the ``fields`` are sent with brackets, as OpenAI's servers read
        them: ``name[]``, ``name[key]``.
        """
        import aiohttp

        form = aiohttp.FormData(default_to_multipart=True)
        for name, value in form_fields(fields.items()):
            form.add_field(name, value)
        name, content, media = file
        form.add_field("file", content, filename=name, content_type=media)
        whole = form()
        # In one piece: each part by itself is a write, and a packet.
        return await self._post(path, await whole.as_bytes(), whole.headers["Content-Type"])

    async def verify(self) -> bool:
        """Ask for the list of models, which costs nothing. True: the server gives it to us.

        False: its answer does not show whether it serves us; some have no such list, and a key may
        be restricted to other requests. Raises ProviderError: no connection, the key is refused, or
        the server's API begins with ``/v1``, which the base URL does not have.
        """
        return await self._listing() is not None

    async def models(self) -> list[str] | None:
        """Return the names of the models that the server lists; None: as :meth:`verify`, False."""
        listing = await self._listing()
        return None if listing is None else listed_models(listing)

    async def _listing(self) -> bytes | None:
        self.check()
        status, body, headers = await self.run(self._get("models"))
        if status == HTTPStatus.UNAUTHORIZED and b"scope" not in body:
            raise openai_status.of_body(self.service, status, body, headers)
        if lists_models(status, body):
            return body
        assert self._server is not None  # noqa: S101 - checked
        url = self._server.url
        if status == HTTPStatus.NOT_FOUND and not any(map(_VERSION.fullmatch, url.parts)):
            status, body, _ = await self.run(self._get("v1/models"))
            if lists_models(status, body) or status == HTTPStatus.UNAUTHORIZED:
                whole = url / "v1"
                shown = f"base_url: {whole}" if url.user is None else "base_url with /v1 at its end"
                text = f"the server has its API under /v1 (404 without it): write {shown}"
                raise ProviderUnavailable(self._provider, text, reason="no_model")
        return None

    async def _get(self, path: str) -> tuple[int, bytes, Mapping[str, str]]:
        """Return status, body and headers; an answer that breaks off has no body."""
        server, session = self._server, self._opened()
        assert server is not None  # noqa: S101 - checked
        url = (server.url / path).with_query(server.url.query)
        response = await session.get(url, proxy=server.proxy_url)
        try:
            body = await ServerAnswer(response, self.service, self.timeout).read()
        except ProviderError:
            body = b""
        return response.status, body, response.headers

    async def _post(self, path: str, body: bytes, media: str) -> ServerAnswer:
        self.check()
        server, session = self._server, self._opened()
        assert server is not None  # noqa: S101 - checked
        data = body if len(body) < _IN_ONE_PIECE else io.BytesIO(body)
        try:
            response = await session.post(
                (server.url / path).with_query(server.url.query),
                data=data,
                headers={"Content-Type": media},
                proxy=server.proxy_url,
            )
        except Exception as error:
            raise explained(error, self.service, self.timeout) from error
        answer = ServerAnswer(response, self.service, self.timeout)
        if response.ok:
            return answer
        refusal = await answer.read()
        raise openai_status.of_body(self.service, response.status, refusal, response.headers)

    def _opened(self) -> aiohttp.ClientSession:
        """Return the session, which belongs to the event loop of its first request."""
        if self._session is None:
            import aiohttp

            server = self._server
            assert server is not None  # noqa: S101 - checked
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=MAX_CONNECTIONS, keepalive_timeout=KEPT_S, ssl=server.tls
                ),
                headers=server.headers,
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    connect=self._settings.connect_timeout,
                    sock_read=self.timeout + _SPARE,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

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
            raise explained(error, self.service, self.timeout) from error
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
            session, self._session = self._session, None
            self._server = None
        if session is not None:
            await session.close()

    def _not_closed(self) -> None:
        if self._closed:
            raise self._gone("closed")

    def _gone(self, state: str) -> ProviderError:
        return ProviderError(self._provider, f"it is {state}", retryable=False)

    def _wrong(self, what: str, reason: str) -> ProviderUnavailable:
        text = f"{what}; see {self._section} in the settings, or the environment"
        return ProviderUnavailable(self._provider, text, reason=reason)

    def _read_settings(self) -> _Server:
        import aiohttp  # noqa: F401 - here, in a thread: it takes tenths of a second
        import yarl

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
        try:  # that of the environment has not been checked before
            url = yarl.URL(checked_base_url(self.base_url))
        except ValueError as error:
            raise self._wrong(f"base_url: {error}", "no_model") from None
        proxy = proxy_for(str(url))
        try:
            if proxy is not None:
                proxy.check("http", "https")
        except ConfigError as error:
            raise ProviderUnavailable(self._provider, str(error), reason="unreachable") from None
        extra = {"provider": self._provider, "section": self._section}
        _log.debug("client prepared", extra=extra)
        return _Server(url, headers, _authorities() if url.scheme == "https" else True, proxy)


def _authorities() -> ssl.SSLContext:
    """Return a context that trusts what the system does, or ``SSL_CERT_FILE``."""
    if platform.system() == "Linux":
        return ssl.create_default_context()
    import httpx2  # knows where other systems keep their certificates

    return httpx2.create_ssl_context()


_ACCOUNT_HEADERS: Final = (
    ("OpenAI-Organization", "OPENAI_ORG_ID"),
    ("OpenAI-Project", "OPENAI_PROJECT_ID"),
)
