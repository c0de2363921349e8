"""Requests to hubs: within time limits, by the proxies of the environment, over few redirects."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from vixio import __version__
from vixio.core.environment_proxy import EnvironmentProxy, is_loopback, proxy_for
from vixio.core.errors import ConfigError
from vixio.providers.downloads.errors import ModelError, Trouble

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTS = 5

MAX_METADATA = 16 * 1024 * 1024
"""Bytes of a hub's answer about files, after decompression."""

_PORTS = {"http": 80, "https": 443}
_REDIRECTS = {301, 302, 303, 307, 308}
_PASSING = {408, 425, 500, 502, 503, 504}
_MOVED = {404, 410}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a source is waited for. Times are in seconds."""

    connect: float = 15.0
    stall: float = 30.0
    """Longest silence of a connection. One that is nearly silent is given up too."""
    tries: int = 5
    """Failures in a row, without any progress between them, before the next source."""
    pause: float = 1.0
    """Before the second try; doubled before each further one, up to ``longest_pause``."""
    longest_pause: float = 60.0
    """A server that asks for a longer one is left for the next source."""


@dataclass(frozen=True, slots=True)
class Access:
    """``token``: sent to the host of the first address alone, not to one that it redirects to.

    ``hint``: what to do if access is refused.
    """

    token: str = field(default="", repr=False)
    hint: str = ""


class Web:
    """The HTTP client of one command. Use it as an asynchronous context manager."""

    def __init__(self, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self._clients: dict[str | None, httpx2.AsyncClient] = {}
        """By the URL of the proxy; None: without one."""

    async def __aenter__(self) -> Self:
        await self._client(None)
        return self

    async def __aexit__(self, *_: object) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    async def _client(self, proxy: EnvironmentProxy | None) -> httpx2.AsyncClient:
        key = proxy.url if proxy is not None else None
        if key not in self._clients:
            # In a thread: importing it and reading the certificates takes tenths of a second.
            client = await asyncio.to_thread(self._make, proxy)
            self._clients.setdefault(key, client)
        return self._clients[key]

    def _make(self, proxy: EnvironmentProxy | None) -> httpx2.AsyncClient:
        import httpx2

        patience = self.patience
        try:
            if proxy is not None:
                proxy.check("http", "https", "socks5", "socks5h")
            return httpx2.AsyncClient(
                follow_redirects=False,
                headers={"User-Agent": f"vixio/{__version__}"},
                timeout=httpx2.Timeout(patience.stall, connect=patience.connect),
                transport=httpx2.AsyncHTTPTransport(proxy=proxy.url if proxy is not None else None),
            )
        except ConfigError as error:
            raise ModelError(str(error)) from None
        except ImportError as error:  # a library for SOCKS
            raise ModelError(f"{proxy} cannot be used: {error}") from None

    @asynccontextmanager
    async def open(
        self, url: str, headers: Mapping[str, str] | None = None, *, access: Access | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Yield the answer to a GET (status 200, 206 or 416), its body unread.

        Raises Trouble, also for failures while the body is read.
        """
        import httpx2

        first = place = _checked(url)
        proxy = None
        try:
            for _ in range(MAX_REDIRECTS + 1):
                sent = dict(headers or {})
                if access is not None and access.token and _same(place, first):
                    sent["Authorization"] = f"Bearer {access.token}"
                proxy = proxy_for(urlunsplit(place), every_scheme=True)
                client = await self._client(proxy)
                request = client.build_request("GET", urlunsplit(place), headers=sent)
                answer = await client.send(request, stream=True)
                try:
                    target = _target(answer, place)
                    if target is None:
                        _check_status(answer, place, access, _way(proxy))
                        yield answer
                        return
                finally:
                    await answer.aclose()
                place = target
        except httpx2.ConnectTimeout:
            raise Trouble(
                f"no connection within {self.patience.connect:g} s{_way(proxy)}", unreachable=True
            ) from None
        except httpx2.TimeoutException:
            silent = f"silent for {self.patience.stall:g} s{_way(proxy)}"
            raise Trouble(silent, again=True) from None
        except httpx2.ConnectError as error:
            raise Trouble(
                f"no connection ({_reason(error)}){_way(proxy)}", unreachable=True
            ) from None
        except httpx2.ProxyError as error:
            raise Trouble(f"the proxy refuses ({_reason(error)}){_way(proxy)}") from None
        except (httpx2.DecodingError, httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            raise Trouble("an answer that cannot be read") from None
        except httpx2.TransportError as error:
            raise Trouble(
                f"the connection broke ({_reason(error)}){_way(proxy)}", again=True
            ) from None
        raise Trouble(f"redirects more than {MAX_REDIRECTS} times")

    async def json(
        self, url: str, *, access: Access | None = None
    ) -> tuple[Any, Mapping[str, str]]:
        """Return a document and its headers (names in lower case). Raises Trouble."""
        tries = self.patience.tries
        for number in range(tries):
            try:
                async with self.open(url, {"Accept": "application/json"}, access=access) as answer:
                    body = bytearray()
                    async for piece in answer.aiter_bytes():
                        body += piece
                        if len(body) > MAX_METADATA:
                            raise Trouble("too long an answer about its files")
                    headers = {name.lower(): value for name, value in answer.headers.items()}
                return await asyncio.to_thread(json.loads, bytes(body)), headers
            except (ValueError, RecursionError):
                raise Trouble("an answer about its files that is no JSON") from None
            except Trouble as trouble:
                if number == tries - 1:
                    raise
                await self.pause(trouble, number)
        raise AssertionError  # unreachable: the last try returns or raises

    async def pause(self, trouble: Trouble, number: int) -> None:
        """Wait before try ``number`` + 2. Raises ``trouble`` if no further try is due."""
        patience = self.patience
        wait = patience.pause * 2**number if trouble.after is None else trouble.after
        if not trouble.again or (trouble.after or 0.0) > patience.longest_pause:
            raise trouble
        await asyncio.sleep(min(wait, patience.longest_pause))


def host_of(url: str) -> str:
    """Return the host, with a port that is not the usual one."""
    place = urlsplit(url)
    return place.netloc.rpartition("@")[2] or url


def is_protected(url: str) -> bool:
    """Whether what is sent to ``url`` is encrypted, or stays on this machine."""
    place = urlsplit(url)
    return place.scheme == "https" or is_loopback(place.hostname or "")


def _checked(url: str, base: str = "") -> SplitResult:
    """Return the parts of an address. Raises Trouble if it is none of http or https."""
    try:
        place = urlsplit(urljoin(base, url))
        if place.scheme in _PORTS and place.hostname and place.port != 0:
            return place
    except ValueError:
        pass  # a port that is none, or a broken address of IPv6
    raise Trouble(f"{url!r} is no http address")


def _same(one: SplitResult, other: SplitResult) -> bool:
    def origin(place: SplitResult) -> tuple[str, str | None, int | None]:
        return place.scheme, place.hostname, place.port or _PORTS[place.scheme]

    return origin(one) == origin(other)


def _target(answer: httpx2.Response, place: SplitResult) -> SplitResult | None:
    """Return where the answer redirects to, None if it does not. Raises Trouble."""
    location = answer.headers.get("location", "")
    if answer.status_code not in _REDIRECTS or not location:
        return None
    target = _checked(location, urlunsplit(place))
    if place.scheme == "https" and target.scheme != "https":
        raise Trouble(f"redirects from https to unprotected http ({target.hostname})")
    return target


def _way(proxy: EnvironmentProxy | None) -> str:
    """Return the proxy and what to do about it; empty without one."""
    return f" through {proxy} ({proxy.hint})" if proxy is not None else ""


def _check_status(
    answer: httpx2.Response, place: SplitResult, access: Access | None, way: str
) -> None:
    """Raise Trouble unless the answer is what was asked for. ``way``: the proxy, for messages."""
    status = answer.status_code
    if status in {200, 206, 416}:
        return
    after = _retry_after(answer)
    if status == 429 or (status == 403 and answer.headers.get("x-ratelimit-remaining") == "0"):
        wait = f", asks to wait {after:.0f} s" if after is not None else ""
        again = status == 429 or after is not None
        raise Trouble(f"too many requests (HTTP {status}{wait})", again=again, after=after)
    if status in {401, 403}:
        hint = f": {access.hint}" if access is not None else ""
        raise Trouble(f"access refused (HTTP {status}){hint}{way}")
    if status in _MOVED:
        raise Trouble(f"not there any more (HTTP {status}: {place.path.rpartition('/')[2]})")
    if status in _PASSING or status >= 500:
        raise Trouble(f"out of order (HTTP {status}){way}", again=True, after=after)
    raise Trouble(f"refuses (HTTP {status}){way}")


def _retry_after(answer: httpx2.Response) -> float | None:
    """Return the seconds of ``Retry-After``: a number, or a date of HTTP (RFC 9110 10.2.3)."""
    value = answer.headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}", value):
        return float(value)
    try:
        until = parsedate_to_datetime(value)
        now = parsedate_to_datetime(answer.headers.get("date", ""))
    except (ValueError, TypeError):
        return None
    end, start = (each if each.tzinfo else each.replace(tzinfo=UTC) for each in (until, now))
    return max(0.0, (end - start).total_seconds())


def _reason(error: Exception) -> str:
    """Return a failure's words in one short line."""
    return " ".join(str(error).split())[:120] or type(error).__name__
