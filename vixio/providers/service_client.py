"""The HTTP client of a service that a provider uses: requests, retries, limits, closing.

It sends requests itself, by aiohttp, because the vendors' own clients take more time for a request
than all the rest of a turn: they convert each field by its type, send a file in a dozen pieces, or
run threads. Importing this module is cheap.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import platform
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

from vixio.core.environment_proxy import EnvironmentProxy, proxy_for
from vixio.core.errors import ConfigError, ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.waiters import Waiters
from vixio.core.well_formed import well_formed
from vixio.providers import service_errors
from vixio.providers.service_answer import ServerAnswer, explained

if TYPE_CHECKING:
    import aiohttp
    import yarl

_log = logging.getLogger(__name__)

T = TypeVar("T")

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

_IN_ONE_PIECE: Final = 2**20
"""Bytes of a body above which it is written in pieces, since each write blocks the loop."""

File = tuple[str, bytes, str]
"""Name, content and media type of a file in a form."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where requests go, and with what."""

    url: str
    """Under which requests have their paths. A query of it is sent with each."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class ServiceClient:
    """The client of one provider, with its pool of connections, for the whole process.

    ``section``: of the settings, as ``asr``; messages name it. ``timeout``: seconds that an answer,
    and each further part of it, may take. ``server``: where requests go; read once, in a thread,
    and raises ProviderUnavailable where the settings do not say.
    """

    option = "base_url"
    """Of the section: where the address is set."""

    def __init__(
        self,
        provider: str,
        section: str,
        server: Callable[[], Server],
        *,
        timeout: float,
        connect_timeout: float = 5.0,
        retries: int = 0,
    ) -> None:
        self._provider = provider
        self._section = section
        self._where = server
        self.timeout = timeout
        self._connect_timeout = connect_timeout
        self._retries = retries
        self._server: Server | None = None
        self._url: yarl.URL | None = None
        self._tls: ssl.SSLContext | bool = True
        self._proxy: EnvironmentProxy | None = None
        self._session: aiohttp.ClientSession | None = None
        self._starting = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()
        self._called_off: set[asyncio.Task[Any]] = set()
        self._left = Waiters()
        self._closed = False

    async def start(self) -> None:
        """Prepare the client, in a thread. Idempotent. Raises ProviderUnavailable."""
        async with self._starting:
            self._not_closed()
            await asyncio.to_thread(self.open)

    def open(self) -> None:
        """Prepare the client, which takes tenths of a second: use a thread. Idempotent.

        Raises ProviderUnavailable.
        """
        if self._server is None:
            self._prepare(self._where())

    @property
    def service(self) -> service_errors.Service:
        """The server, for messages."""
        url = self._server.url if self._server is not None else ""
        host = urlsplit(url).netloc.rpartition("@")[2]
        return service_errors.Service(self._provider, self._section, host, self._proxy, self.option)

    def check(self) -> None:
        """Raise ProviderError before :meth:`start` and after :meth:`close`."""
        self._not_closed()
        if self._server is None:
            raise self._gone("not started")

    def refusal(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        """Return the error of an answer with another status than 2xx. For subclasses to word."""
        return service_errors.of_body(self.service, status, body, headers)

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    async def post_json(
        self, path: str, body: Mapping[str, Any], query: Mapping[str, str] | None = None
    ) -> ServerAnswer:
        """Send ``body``; return the answer, its body unread. The caller closes it.

        ``path``: under the server's URL. Raises ProviderError, also where the server refuses.
        """
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        # Half a surrogate pair, from an answer that was cut in an emoji, is no UTF-8.
        sent = well_formed(text).encode()
        return await self._request("POST", path, sent, "application/json", query)

    async def post_form(self, path: str, fields: Mapping[str, Any], file: File) -> ServerAnswer:
        """Send a form with ``file``; otherwise as :meth:`post_json`.

        Lists and mappings among the ``fields`` are sent with brackets, as OpenAI's servers read
        them: ``name[]``, ``name[key]``.
        """
        import aiohttp

        form = aiohttp.FormData(default_to_multipart=True)
        for name, value in _form_fields(fields.items()):
            form.add_field(name, value)
        name, content, media = file
        form.add_field("file", content, filename=name, content_type=media)
        whole = form()
        # In one piece: each part by itself is a write, and a packet.
        media = whole.headers["Content-Type"]
        return await self._request("POST", path, await whole.as_bytes(), media)

    async def post_fields(self, path: str, fields: Mapping[str, Any]) -> ServerAnswer:
        """Send fields as a page's form does; otherwise as :meth:`post_json`."""
        body = urlencode({name: well_formed(str(value)) for name, value in fields.items()})
        media = "application/x-www-form-urlencoded"
        return await self._request("POST", path, body.encode(), media)

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> ServerAnswer:
        """Ask for a page of the server; otherwise as :meth:`post_json`."""
        return await self._request("GET", path, query=query)

    async def look(self, path: str) -> tuple[int, bytes, Mapping[str, str]]:
        """Return status, body and headers of a page; an answer that breaks off has no body."""
        response = await self._send("GET", path)
        try:
            body = await ServerAnswer(response, self.service, self.timeout).read()
        except ProviderError:
            body = b""
        return response.status, body, response.headers

    async def _request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        media: str = "",
        query: Mapping[str, str] | None = None,
    ) -> ServerAnswer:
        try:
            response = await self._send(method, path, body, media, query)
        except ProviderError:
            raise
        except Exception as error:
            raise explained(error, self.service, self.timeout) from error
        answer = ServerAnswer(response, self.service, self.timeout)
        if response.ok:
            return answer
        refusal = await answer.read()
        raise self.refusal(response.status, refusal, response.headers)

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        media: str = "",
        query: Mapping[str, str] | None = None,
    ) -> aiohttp.ClientResponse:
        self.check()
        session, url = self._opened(), self._url
        assert url is not None  # noqa: S101 - checked
        whole = (url / path if path else url).with_query(url.query)
        data = body if body is None or len(body) < _IN_ONE_PIECE else io.BytesIO(body)
        return await session.request(
            method,
            whole.extend_query(query) if query else whole,
            data=data,
            headers={"Content-Type": media} if media else None,
            proxy=self._proxy.url if self._proxy is not None else None,
        )

    def _opened(self) -> aiohttp.ClientSession:
        """Return the session, which belongs to the event loop of its first request."""
        if self._session is None:
            import aiohttp

            server = self._server
            assert server is not None  # noqa: S101 - checked
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=MAX_CONNECTIONS, keepalive_timeout=KEPT_S, ssl=self._tls
                ),
                headers=server.headers,
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    connect=self._connect_timeout,
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
        for left in range(self._retries, -1, -1):
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

    def _prepare(self, server: Server) -> None:
        import aiohttp  # noqa: F401 - here, in a thread: it takes tenths of a second
        import yarl

        url = yarl.URL(server.url)
        proxy = proxy_for(server.url)
        try:
            if proxy is not None:
                proxy.check("http", "https")
        except ConfigError as error:
            raise ProviderUnavailable(self._provider, str(error), reason="unreachable") from None
        self._tls = authorities() if url.scheme == "https" else True
        self._url, self._proxy, self._server = url, proxy, server
        extra = {"provider": self._provider, "section": self._section}
        _log.debug("client prepared", extra=extra)


def checked_key(provider: str, section: str, option: str, key: str) -> str:
    """Return a key that a header can carry. Raises ProviderUnavailable."""
    if key.isascii() and key.isprintable():
        return key
    raise ProviderUnavailable(
        provider,
        f"the {option} has line breaks or letters that no key has; see {section} in the settings, "
        "or the environment",
        reason="no_key",
    )


def authorities() -> ssl.SSLContext:
    """Return a context that trusts what the system does, or ``SSL_CERT_FILE``. Blocking."""
    if platform.system() == "Linux":
        return ssl.create_default_context()
    import httpx2  # knows where other systems keep their certificates

    return httpx2.create_ssl_context()


def _form_fields(items: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - pairs of JSON
    """Return the fields of a form as OpenAI-compatible servers read them.

    Names have brackets; a list is one pair for each text.
    """
    found: list[tuple[str, str]] = []
    for name, value in items:
        if isinstance(value, Mapping):
            found += _form_fields((f"{name}[{key}]", below) for key, below in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            found += [(f"{name}[]", _text(each)) for each in value]
        else:
            found.append((name, _text(value)))
    return found


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) or value is None else str(value)
