"""Sends the requests of REST tools: to checked addresses, within bounds, to one host only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from vixio.core.errors import ToolError
from vixio.tools.rest.network import addresses_of
from vixio.tools.rest.request import RestRequest

if TYPE_CHECKING:
    import httpx2

MAX_ANSWER_BYTES = 1024 * 1024
"""Of an answer after decompression. The result for the model is cut much shorter."""

INLINE_BYTES = 32 * 1024
"""Longer JSON is parsed in a thread: 10 ms per megabyte."""

PASSING = frozenset({429, 500, 502, 503, 504})
"""Retryable statuses; 500 too, since many services use no other."""

MAX_REDIRECTS = 3
MAX_CONNECTIONS = 20

KEEP_S = 30.0

_SEE_OTHER = {301, 302, 303}
_SAME_AGAIN = {307, 308}
_REPEATABLE = {"GET", "DELETE"}
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class RestAnswer:
    """Status, headers (names in lower case) and the whole body."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class RestClient:
    """The connections of one source, pooled by host."""

    def __init__(self, max_connections: int = MAX_CONNECTIONS, *, elsewhere: bool = False) -> None:
        """``max_connections``: open ones to one host; further calls wait. ``elsewhere``: redirects
        to other hosts are followed, whose addresses are checked too: for requests without keys."""
        self._max_connections = max_connections
        self._elsewhere = elsewhere
        self._pools: dict[tuple[str, str, int, bool], httpx2.AsyncHTTPTransport] = {}
        self._closed = False

    async def send(self, request: RestRequest, *, timeout: float, private: bool) -> RestAnswer:
        """Send it and return the whole answer; see :meth:`open`."""
        async with self.open(request, timeout=timeout, private=private) as answer:
            return await _read(answer)

    @asynccontextmanager
    async def open(
        self, request: RestRequest, *, timeout: float, private: bool
    ) -> AsyncIterator[httpx2.Response]:
        """Send it and yield the answer, its body unread; failures while it is read count too.

        ``timeout``: seconds for each wait for the network. ``private``: whether private addresses
        are allowed. Raises ToolError. Leaving the context closes an answer that is not read.
        """
        import httpx2

        url = urlsplit(request.url)
        method, body = request.method, request.body
        try:
            for _ in range(MAX_REDIRECTS + 1):
                sent = RestRequest(method, urlunsplit(url), request.headers, body)
                answer = await self._once(sent, url, timeout, private=private)
                try:
                    target = _redirected(answer, url, elsewhere=self._elsewhere)
                    if target is None:
                        yield answer
                        return
                finally:
                    await answer.aclose()
                if answer.status_code in _SEE_OTHER and method not in _REPEATABLE:
                    # The result of a POST is read at another URL, not posted again (RFC 9110 15.4).
                    method, body = "GET", None
                url = target
        except httpx2.TimeoutException:
            raise ToolError(
                "timeout", "the service did not answer in time", retryable=True
            ) from None
        except (httpx2.TransportError, OSError):
            message = "the connection to the service failed"
            raise ToolError("disconnected", message, retryable=True) from None
        except (httpx2.DecodingError, httpx2.InvalidURL):
            # Compressed wrongly, or redirected to what is no URL.
            raise ToolError("failed", "the service's answer cannot be read") from None
        raise ToolError("failed", f"the service redirects more than {MAX_REDIRECTS} times")

    async def close(self) -> None:
        """Close all connections; later calls fail."""
        self._closed = True
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    async def _once(
        self, request: RestRequest, url: SplitResult, timeout: float, *, private: bool
    ) -> httpx2.Response:
        import httpx2

        host = url.hostname or ""
        port = url.port or _PORTS[url.scheme]
        pool = await self._pool(url.scheme, host, port, private=private)
        addresses = await addresses_of(host, port, allow_private=private)
        headers = {**request.headers, "Host": url.netloc}
        for last, address in _marked(addresses):
            place = f"[{address}]" if ":" in address else address
            pinned = httpx2.Request(
                request.method,
                urlunsplit(url._replace(netloc=f"{place}:{port}")),
                headers=headers,
                content=request.body,
                extensions={
                    # The certificate is issued for the name.
                    "sni_hostname": host,
                    "timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout),
                },
            )
            try:
                return await pool.handle_async_request(pinned)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if last:
                    raise
        raise AssertionError("addresses_of returns at least one address")

    async def _pool(
        self, scheme: str, host: str, port: int, *, private: bool
    ) -> httpx2.AsyncHTTPTransport:
        import httpx2

        if self._closed:
            raise ToolError("disconnected", "the server is stopping", retryable=True)
        # By host, not by address: two names with one address may be two services.
        key = (scheme, host, port, private)
        pool = self._pools.get(key)
        if pool is None:
            # trust_env off: a proxy from the environment would resolve names itself. In a thread:
            # reading the certificates takes 20 ms.
            pool = await asyncio.to_thread(
                httpx2.AsyncHTTPTransport,
                trust_env=False,
                limits=httpx2.Limits(
                    max_connections=self._max_connections,
                    max_keepalive_connections=self._max_connections,
                    keepalive_expiry=KEEP_S,
                ),
            )
            pool = self._pools.setdefault(key, pool)
        return pool


async def _read(answer: httpx2.Response) -> RestAnswer:
    body = await read_body(answer)
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return RestAnswer(answer.status_code, headers, body)


async def read_body(answer: httpx2.Response) -> bytes:
    """Return the whole body of an answer that is open. Raises ToolError if it is too long."""
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise ToolError("failed", f"the answer has more than {MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def is_same_service(target: SplitResult, origin: SplitResult) -> bool:
    """Whether ``target`` is on the host and port of ``origin``, and not less protected.

    From http to https on the default ports is the same service, encrypted. Raises ValueError for a
    port that is not a number.
    """
    if target.hostname != origin.hostname:
        return False
    if target.scheme == origin.scheme:
        default = _PORTS.get(origin.scheme)
        return (target.port or default) == (origin.port or default)
    schemes, ports = (origin.scheme, target.scheme), (origin.port, target.port)
    return schemes == ("http", "https") and ports == (None, None)


def _redirected(
    answer: httpx2.Response, url: SplitResult, *, elsewhere: bool
) -> SplitResult | None:
    """Return the target of a redirect, None without one. Raises ToolError for another host."""
    location = answer.headers.get("location", "")
    if answer.status_code not in _SEE_OTHER | _SAME_AGAIN or not location:
        return None
    try:
        target = urlsplit(urljoin(urlunsplit(url), location))
        away = elsewhere and target.scheme in _PORTS and target.hostname and not target.username
        if away or is_same_service(target, url):
            return target
    except ValueError:
        pass  # no URL: not followed either
    raise ToolError("denied", "the service redirects to another host, which is not followed")


def _marked(addresses: list[str]) -> list[tuple[bool, str]]:
    return [(number == len(addresses), each) for number, each in enumerate(addresses, 1)]
