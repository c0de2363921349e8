"""HTTP requests as the device's client makes them (src/http_client.cc of 78/esp-ml307).

Blocking calls run in threads; the standard library sends what it is told and nothing more.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit


class RequestError(Exception):
    """No answer: the address is wrong, or the server cannot be reached or understood."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer with its whole body."""

    status: int
    headers: dict[str, str]  # keys in lower case
    body: bytes


async def post(url: str, headers: Mapping[str, str], body: str, *, timeout: float) -> HttpAnswer:
    """POST a body.

    Raises:
        RequestError: no answer within `timeout` seconds for each step.
    """

    def send() -> HttpAnswer:
        connection, path = _connection(url, timeout)
        try:
            connection.request("POST", path, body.encode(), dict(headers))
            response = connection.getresponse()
            received = {name.lower(): value for name, value in response.getheaders()}
            return HttpAnswer(response.status, received, response.read())
        finally:
            connection.close()

    with _one_error(url):
        return await asyncio.to_thread(send)


class Download:
    """A bare GET: no header but Host and Connection, no Range, no redirection followed."""

    def __init__(self, url: str, response: http.client.HTTPResponse) -> None:
        self._url = url
        self._response = response
        self.status = response.status

    @property
    def size(self) -> int:
        """GetBodyLength: the Content-Length; 0 if there is none or the body is chunked."""
        return 0 if self._response.chunked else self._response.length or 0

    async def read(self, most: int) -> bytes:
        """The next bytes; empty at the end, which may come too early.

        Raises:
            RequestError: the connection failed, or sent nothing for too long.
        """
        with _one_error(self._url):
            return await asyncio.to_thread(self._response.read, most)


@contextlib.asynccontextmanager
async def download(url: str, *, timeout: float) -> AsyncIterator[Download]:
    """Open a download; the connection is closed at the end of the block, also in mid-read.

    Raises:
        RequestError: no answer within `timeout` seconds for each step.
    """
    with _one_error(url):
        connection, path = _connection(url, timeout)
    sockets: list[socket.socket] = []
    responses: list[http.client.HTTPResponse] = []
    abandoned = False

    def send() -> http.client.HTTPResponse:
        try:
            connection.connect()
            sockets.append(connection.sock)
            connection.putrequest("GET", path, skip_accept_encoding=True)
            connection.putheader("Connection", "close")
            connection.endheaders()
            return connection.getresponse()
        finally:
            if abandoned:  # by a task that was cancelled meanwhile
                connection.close()

    try:
        with _one_error(url):
            response = await asyncio.to_thread(send)
        responses.append(response)
        yield Download(url, response)
    finally:
        abandoned = True
        for opened in sockets:  # first, since it wakes a thread that still reads
            with contextlib.suppress(OSError):  # the peer has closed it already
                opened.shutdown(socket.SHUT_RDWR)
        for response in responses:
            response.close()
        connection.close()


@contextlib.contextmanager
def _one_error(url: str) -> Iterator[None]:
    try:
        yield
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise RequestError(f"cannot reach {url}: {str(error) or type(error).__name__}") from error


def _connection(url: str, timeout: float) -> tuple[http.client.HTTPConnection, str]:
    """A connection to a URL's host, and the path with its query.

    Raises:
        ValueError: not an http or https address.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise ValueError("not an http or https address")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if parts.scheme == "http":
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout), path
    secure = http.client.HTTPSConnection(
        parts.hostname, parts.port, timeout=timeout, context=ssl.create_default_context()
    )
    return secure, path
