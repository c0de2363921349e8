"""One answer of a service over HTTP: its body in pieces, as events, or whole."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, Final

from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.core.event_stream import Event, EventReader
from vixio.core.streams import closing
from vixio.providers.service_errors import Service, one_line, raise_error, unexpected, unreachable

if TYPE_CHECKING:
    import aiohttp

_DRAIN: Final = 0.1
"""Seconds to read the rest of a stream whose last event has come."""

MAX_EVENT_BYTES: Final = 4 * 2**20
"""Longest event of a stream: far beyond the arguments of any tool."""

MAX_BODY_BYTES: Final = 4 * 2**20
"""Longest answer that is read as a whole: far beyond any transcript or description."""


class ServerAnswer:
    """``timeout``: seconds that the client waits for each part of the body, for messages.

    Whatever reads the body raises ProviderError.
    """

    def __init__(self, response: aiohttp.ClientResponse, service: Service, timeout: float) -> None:
        self._response = response
        self._service = service
        self._provider = service.provider
        self._timeout = timeout

    @property
    def content_type(self) -> str:
        """The header, with its parameters; empty if there is none."""
        return self._response.headers.get("content-type", "")

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives: each time all that has come."""
        try:
            async for piece in self._response.content.iter_any():
                yield piece
        except Exception as error:
            raise self._broken(error) from error

    async def read(self) -> bytes:
        """Return the rest of the body, and close the answer."""
        body = bytearray()
        try:
            async with closing(self.pieces()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > MAX_BODY_BYTES:
                        what = f"an answer of more than {MAX_BODY_BYTES} bytes"
                        raise ProviderError(self._provider, what, retryable=False, reason="service")
        finally:
            self.close()
        return bytes(body)

    async def events(self, *, named: bool = False) -> AsyncIterator[dict[str, Any]]:
        """Yield the JSON objects of a stream of server-sent events, whatever it is called.

        ``named``: each with the name of its event, under ``event``. An ``error`` among them is
        raised, ``[DONE]`` ends them. So is an answer that is no stream.
        """
        reader = EventReader(MAX_EVENT_BYTES)
        async with closing(self._stream()) as stream:
            async for piece in stream:
                for name, data in self._fed(reader, piece):
                    if data.startswith("[DONE]"):
                        await self._drain()
                        return
                    if data and isinstance(event := self._parsed(data), dict):
                        raise_error(event, self._service)
                        yield {**event, "event": name} if named else event

    def close(self) -> None:
        """End the request. Its connection is reused if the body was read to its end."""
        self._response.close()

    async def _stream(self) -> AsyncIterator[bytes]:
        """Yield the body. Raises an error that is all of it, or that it is JSON and no stream."""
        if "json" not in self.content_type:
            async with closing(self.pieces()) as pieces:
                async for piece in pieces:
                    yield piece
            return
        whole = await self.read()
        try:
            body = json.loads(whole)
        except ValueError:
            yield whole  # a stream that is called JSON
            return
        if isinstance(body, dict):
            raise_error(body, self._service)
        raise ProviderError(self._provider, "the server's answer is no stream", reason="service")

    def _broken(self, error: Exception) -> ProviderError:
        failure = explained(error, self._service, self._timeout)
        if failure.reason != "unreachable":
            return failure
        text = f"the answer broke off: {one_line(_cause(error))}"
        return ProviderError(self._provider, text, reason="service")

    def _fed(self, reader: EventReader, piece: bytes) -> Iterable[Event]:
        try:
            return reader.feed(piece)
        except ValueError as error:
            raise ProviderError(self._provider, str(error), reason="service") from None

    def _parsed(self, data: str) -> object:
        try:
            return json.loads(data)
        except ValueError:
            what = "an event that is no JSON"
            raise ProviderError(self._provider, what, reason="service") from None

    async def _drain(self) -> None:
        """Read the rest: only then is the connection reused."""
        try:
            async with asyncio.timeout(_DRAIN):
                async for _ in self._response.content.iter_any():
                    pass
        except Exception:  # noqa: BLE001, S110 - the answer is complete; the connection is closed instead
            pass


def explained(error: Exception, service: Service, timeout: float) -> ProviderError:
    """Return an error of the HTTP client as a ProviderError."""
    import aiohttp

    if isinstance(error, ProviderError):
        return error
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return unreachable(service, "no connection in time")
    if isinstance(error, TimeoutError):
        return ProviderTimeout(service.provider, "answer", timeout)
    if isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError | OSError):
        return unreachable(service, _cause(error))
    return unexpected(service.provider, error)


def _cause(error: Exception) -> str:
    """Return what happened, without the client's own words around it."""
    import aiohttp

    if isinstance(error, aiohttp.ClientPayloadError):
        return "it is not complete"
    cause = getattr(error, "os_error", None) or error
    number = getattr(cause, "errno", None)
    if isinstance(number, int) and number > 0:  # asyncio's own words quote a tuple of Python
        return os.strerror(number)
    return getattr(cause, "strerror", None) or str(cause) or type(error).__name__
