"""A WebSocket to a service: opened, read by a task of its own, closed within a timeout; and a pool.

Each provider brings what its vendor sends and takes; what can go wrong with a connection is the
same for all, and is worded here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from vixio.core.environment_proxy import proxy_for
from vixio.core.errors import (
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    as_provider_error,
)
from vixio.core.tasks import cancel_and_wait
from vixio.core.waiters import Waiters
from vixio.providers.service_errors import Service, of_host

_log = logging.getLogger(__name__)

_wire = logging.getLogger(f"{__name__}.wire")
_wire.setLevel(logging.INFO)  # at DEBUG the library logs the headers, keys among them

CLOSE_TIMEOUT: Final = 1.0
"""Seconds for the closing handshake; after them the connection is aborted."""

MAX_FRAME: Final = 4 * 2**20
"""Bytes of a frame that comes: far beyond a packet of audio or a transcript."""

CALLED_OFF_S: Final = 1.0
"""For a vendor's answer to a use that is called off; then the connection is closed."""

Frame = str | bytes
Refused = Callable[[Service, int, bytes, Mapping[str, str]], ProviderError]
"""Returns the error of an upgrade that is refused: by status, body and headers."""


class ServiceSocket:
    """An open WebSocket.

    ``take``: gets each frame that comes; may raise ProviderError, which ends the connection.
    ``lost``: called once, when the connection is lost, unless it was closed from here.
    """

    def __init__(
        self,
        socket: ClientConnection,
        provider: str,
        take: Callable[[Frame], None],
        lost: Callable[[ProviderError], None],
    ) -> None:
        self.failure: ProviderError | None = None
        """Why nothing can be sent any more."""
        self._socket = socket
        self._provider = provider
        self._take = take
        self._lost = lost
        self._reader = asyncio.create_task(self._read(), name=f"{provider} reader")

    @property
    def headers(self) -> Mapping[str, str]:
        """Those of the answer to the upgrade."""
        response = self._socket.response
        return response.headers if response is not None else {}

    def attach(self, take: Callable[[Frame], None], lost: Callable[[ProviderError], None]) -> None:
        """Deliver to others from now on."""
        self._take, self._lost = take, lost

    def detach(self) -> None:
        """Deliver to nobody: what this connection did is over."""
        self._take, self._lost = _ignored, _ignored

    async def send(self, frame: Frame) -> None:
        """Send a frame, with the WebSocket's back-pressure. Raises ProviderError."""
        if self.failure is not None:
            raise self.failure
        try:
            await self._socket.send(frame)
        except ConnectionClosed as error:
            # What the server said before it closed is read first: it says why.
            await asyncio.wait({self._reader}, timeout=CLOSE_TIMEOUT)
            raise self._why(error) from None

    async def close(self) -> None:
        """Close the connection within a timeout. Idempotent, never raises."""
        if self.failure is None:
            self.failure = ProviderError(self._provider, "the provider is closed", retryable=False)
            self.detach()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._socket.close()
        except TimeoutError:  # the library waits without limit for unsent audio
            self._socket.transport.abort()
            await self._socket.wait_closed()
        await cancel_and_wait(self._reader)

    async def _read(self) -> None:
        try:
            async for frame in self._socket:
                self._take(frame)
            error = ProviderError(
                self._provider, "the server closed the connection", reason="service"
            )
        except ConnectionClosed as closed:
            error = self._closed_by(closed)
        except Exception as strange:  # noqa: BLE001 - a message of an unexpected form is one use's
            error = as_provider_error(self._provider, strange)
        self.failure = self.failure or error
        self._lost(self.failure)

    def _why(self, error: ConnectionClosed) -> ProviderError:
        return self.failure or self._closed_by(error)

    def _closed_by(self, error: ConnectionClosed) -> ProviderError:
        code = error.rcvd.code if error.rcvd is not None else None
        how = f"closed the connection ({code})" if code is not None else "cut the connection"
        return ProviderError(self._provider, f"the server {how}", reason="service")


def _ignored(what: object) -> None:
    """Nobody is there who would want it."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a WebSocket leads, and what messages say if it does not.

    ``context``: for TLS, None for ``ws://``. ``refused``: words the vendor's refusals. ``option``:
    of the settings, where the address stands. ``untrusted``: what to do about a certificate that is
    not trusted.
    """

    service: Service
    url: str = field(repr=False)
    """Perhaps signed: no message quotes it."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    subprotocols: Sequence[str] = ()
    context: ssl.SSLContext | None = None
    connect_timeout: float = 5.0
    refused: Refused | None = None
    option: str = "url"
    untrusted: str = ""


async def open_socket(
    endpoint: Endpoint, take: Callable[[Frame], None], lost: Callable[[ProviderError], None]
) -> ServiceSocket:
    """Connect; ``take`` and ``lost`` as of :class:`ServiceSocket`. Raises ProviderError."""
    url, option = endpoint.url, endpoint.option
    proxy = proxy_for(url)
    service = of_host(endpoint.service, url, proxy)
    provider = service.provider
    try:
        socket = await connect(
            url,
            ssl=endpoint.context,
            subprotocols=[Subprotocol(each) for each in endpoint.subprotocols] or None,
            compression=None,
            additional_headers=endpoint.headers,
            proxy=proxy.url if proxy is not None else None,
            open_timeout=endpoint.connect_timeout,
            close_timeout=CLOSE_TIMEOUT,
            max_size=MAX_FRAME,
            logger=_wire,
        )
    except TimeoutError:
        what = f"connection through {proxy}" if proxy is not None else "connection"
        raise ProviderTimeout(provider, what, endpoint.connect_timeout) from None
    except InvalidStatus as error:
        response = error.response
        status, body = response.status_code, bytes(response.body or b"")
        if endpoint.refused is not None:
            raise endpoint.refused(service, status, body, response.headers) from None
        raise refused_by(service, status, option) from None
    except (WebSocketException, EOFError, OSError, ImportError) as error:
        raise _unreachable(error, service, option, endpoint.untrusted) from None
    return ServiceSocket(socket, provider, take, lost)


def refused_by(service: Service, status: int, option: str) -> ProviderError:
    """Return the error of an upgrade that is refused, as far as the status tells."""
    provider, section = service.provider, service.section
    if status in (401, 403):
        text = f"{service} refuses us ({status}): see the key in {section}{service.proxy_hint}"
        return ProviderUnavailable(provider, text, reason="no_key")
    if status == 404:
        text = f"{service} has nothing at this path (404): see {section}.{option}"
        return ProviderUnavailable(provider, text)
    busy = status in (429, 503)
    text = f"{service} answers {status}"
    return ProviderError(provider, text, reason="busy" if busy else "service")


def _unreachable(error: Exception, service: Service, option: str, untrusted: str) -> ProviderError:
    provider, place = service.provider, f"{service.section}.{option}"
    if isinstance(error, ssl.SSLCertVerificationError):
        text = f"the certificate of {service} is not trusted ({error.verify_message})"
        text += f": {untrusted}" if untrusted else ""
        return ProviderUnavailable(provider, text)
    if service.proxy is not None:
        status = getattr(getattr(error, "response", None), "status_code", None)  # of CONNECT
        why = f"it answers {status}" if status is not None else _cause(error)
        text = f"{service} cannot be reached: {why}{service.proxy_hint}"
        return ProviderError(provider, text, reason="unreachable")
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError | ConnectionResetError):
        text = f"{service} cannot be reached: {_cause(error)}; is {place} right, and does it run?"
        return ProviderError(provider, text, reason="unreachable")
    # The outcome of a plain request to a TLS server, and of TLS with a plain server.
    text = f"{service} hangs up: is {place} to begin with wss:// instead of ws://, or with ws://?"
    return ProviderError(provider, text, reason="unreachable")


def _cause(error: Exception) -> str:
    number = getattr(error, "errno", None) or 0  # negative: of the name's resolution
    if number > 0:
        return os.strerror(number)
    return getattr(error, "strerror", None) or type(error).__name__


# ── connections that are kept ──────────────────────────────────────────────────────────────────


class Kept(Protocol):
    """A connection that a pool keeps."""

    @property
    def failure(self) -> ProviderError | None:
        """Why it cannot be used again."""

    def detach(self) -> None:
        """Deliver nothing more to who used it."""

    async def close(self) -> None:
        """Close within a timeout. Idempotent, never raises."""


C = TypeVar("C", bound=Kept)


class SocketPool(Generic[C]):
    """Opens, keeps and closes connections, each of which serves one use at a time.

    ``keep``: how many stay open without a use, for ``keep_s`` seconds. ``most``: how many there are
    at the same time, unused ones included, which is what a vendor counts; None: no limit. Who comes
    when all are in use waits for ``patience`` seconds.
    """

    def __init__(
        self,
        provider: str,
        *,
        keep: int,
        keep_s: float,
        most: int | None = None,
        patience: float = 2.0,
    ) -> None:
        self._provider = provider
        self._keep = keep
        self._keep_s = keep_s
        self._most = most
        self._patience = patience
        self._idle: dict[C, asyncio.TimerHandle] = {}
        self._used: set[C] = set()
        self._opening = 0
        self._closing: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._freed = Waiters()
        self.closed = False

    @property
    def open(self) -> int:
        """Connections that the vendor counts."""
        return len(self._idle) + len(self._used) + self._opening + len(self._closing)

    async def acquire(
        self,
        connect: Callable[[], Awaitable[C]],
        *,
        fresh: bool = False,
        fits: Callable[[C], bool] = lambda _: True,
    ) -> C:
        """Return a kept connection that ``fits``, else a new one; a new one if ``fresh``.

        Raises ProviderError, with the reason ``busy`` where there are as many as there may be.
        """
        try:
            async with asyncio.timeout(self._patience):
                while True:
                    self.check()
                    if not fresh and (kept := self._take(fits)) is not None:
                        self._used.add(kept)
                        return kept
                    if self._most is None or self.open < self._most:
                        break
                    if self._idle:  # none of them fits
                        self._drop(next(iter(self._idle)))
                    await self._freed.wait()
        except TimeoutError:
            text = f"all {self._most} connections that the account may have are in use"
            raise ProviderError(self._provider, text, reason="busy") from None
        self._opening += 1
        try:
            made = await connect()
        finally:
            self._opening -= 1
            self._freed.wake()
        if self.closed:
            await made.close()
            self.check()
        self._used.add(made)
        _log.debug("connected", extra={"provider": self._provider})
        return made

    def release(self, connection: C) -> None:
        """Take back a connection whose use is over and left nothing behind."""
        connection.detach()
        self._used.discard(connection)
        if connection.failure is not None or self.closed or not self._keep:
            self.discard(connection)
            return
        if len(self._idle) >= self._keep:
            self._drop(next(iter(self._idle)))
        loop = asyncio.get_running_loop()
        self._idle[connection] = loop.call_later(self._keep_s, self._drop, connection)
        self._freed.wake()

    def call_off(self, connection: C, end: Callable[[], Awaitable[object]]) -> None:
        """Take back a connection in the middle of a use, once ``end`` returns: the use is over.

        Where it raises ProviderError, or takes longer than CALLED_OFF_S, the connection is closed.
        """
        task = asyncio.create_task(self._call_off(connection, end), name=f"{self._provider} end")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _call_off(self, connection: C, end: Callable[[], Awaitable[object]]) -> None:
        try:
            async with asyncio.timeout(CALLED_OFF_S):
                await end()
        except (TimeoutError, ProviderError):
            self.discard(connection)
        else:
            self.release(connection)

    def discard(self, connection: C) -> None:
        """Close a connection that cannot be used again."""
        connection.detach()
        self._used.discard(connection)
        task = asyncio.create_task(connection.close(), name=f"{self._provider} close")
        self._closing.add(task)
        task.add_done_callback(self._gone)

    async def close(self) -> None:
        """Close all connections within a timeout. Idempotent."""
        self.closed = True
        self._freed.wake()
        await cancel_and_wait(*self._ending)  # theirs are still in use
        for connection in list(self._idle):
            self._drop(connection)
        await asyncio.gather(*(connection.close() for connection in self._used))
        self._used.clear()
        while self._closing:
            await asyncio.wait(self._closing)

    def check(self) -> None:
        """Raise ProviderError after :meth:`close`."""
        if self.closed:
            raise ProviderError(self._provider, "the provider is closed", retryable=False)

    def _take(self, fits: Callable[[C], bool]) -> C | None:
        # The one used last, so that spare connections reach their idle timeout.
        for connection in reversed(list(self._idle)):
            if connection.failure is not None:
                self._drop(connection)
            elif fits(connection):
                self._idle.pop(connection).cancel()
                return connection
        return None

    def _drop(self, connection: C) -> None:
        self._idle.pop(connection).cancel()
        self.discard(connection)

    def _gone(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        self._freed.wake()
