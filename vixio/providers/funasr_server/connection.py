"""One WebSocket to a FunASR server, read by a task of its own and closed within a timeout."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from vixio.core.environment_proxy import EnvironmentProxy, proxy_for
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.tasks import cancel_and_wait
from vixio.providers.funasr_server.messages import Result, read
from vixio.providers.funasr_server.settings import NAME, FunASRServerSettings

if TYPE_CHECKING:
    from vixio.providers.funasr_server.provider import FunASRServerStream

SUBPROTOCOL: Final = Subprotocol("binary")
"""The Python server requires this subprotocol; the C++ server ignores it."""

CLOSE_TIMEOUT: Final = 1.0
"""Seconds for the closing handshake; after them the connection is aborted."""


class Connection:
    """An open WebSocket. ``hotwords``: of its first utterance; the C++ server keeps those."""

    def __init__(
        self, socket: ClientConnection, hotwords: str, late: Callable[[Result], None]
    ) -> None:
        self.hotwords = hotwords
        self.failure: ProviderError | None = None
        self._socket = socket
        self._late = late
        self._listener: FunASRServerStream | None = None
        self._reader = asyncio.create_task(self._read(), name="funasr-server reader")

    @classmethod
    async def open(
        cls,
        settings: FunASRServerSettings,
        context: ssl.SSLContext | None,
        hotwords: str,
        late: Callable[[Result], None],
    ) -> Connection:
        """Connect. ``late`` gets results of utterances that are over. Raises ProviderError."""
        headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
        proxy = proxy_for(settings.url)
        server = _named(settings, proxy)
        try:
            socket = await connect(
                settings.url,
                ssl=context,
                subprotocols=[SUBPROTOCOL],
                compression=None,
                additional_headers=headers,
                proxy=proxy.url if proxy is not None else None,
                open_timeout=settings.connect_timeout,
                close_timeout=CLOSE_TIMEOUT,
            )
        except TimeoutError:
            what = f"connection through {proxy}" if proxy is not None else "connection"
            raise ProviderTimeout(NAME, what, settings.connect_timeout) from None
        except InvalidStatus as error:
            raise _refused(error.response.status_code, server) from None
        except (WebSocketException, EOFError, OSError, ImportError) as error:
            if proxy is None:
                raise _unreachable(error, server) from None
            raise _no_way(error, server, proxy) from None
        return cls(socket, hotwords, late)

    def attach(self, listener: FunASRServerStream) -> None:
        """Deliver results to ``listener`` from now on."""
        self._listener = listener

    def detach(self) -> None:
        """Stop the delivery: the utterance is over, and the connection is free."""
        self._listener = None

    async def send(self, frame: str | bytes) -> None:
        """Send a frame, with the WebSocket's back-pressure. Raises ProviderError."""
        if self.failure is not None:
            raise self.failure
        try:
            await self._socket.send(frame)
        except ConnectionClosed as error:
            raise _lost(error) from None

    async def close(self) -> None:
        """Close the connection within a timeout. Idempotent, never raises."""
        if self.failure is None:
            self.failure = ProviderError(NAME, "the provider is closed", retryable=False)
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
                self._deliver(read(frame))
            error = ProviderError(NAME, "the server closed the connection", reason="service")
        except ConnectionClosed as closed:
            error = _lost(closed)
        except ProviderError as strange:
            error = strange
        self.failure = self.failure or error
        if self._listener is not None:
            self._listener.lost(self.failure)

    def _deliver(self, result: Result) -> None:
        listener = self._listener
        # A result without a name belongs to the only utterance of the connection.
        if listener is not None and result.wav_name in ("", listener.wav_name):
            listener.heard(result)
        else:
            self._late(result)


def tls_context(settings: FunASRServerSettings) -> ssl.SSLContext | None:
    """Return the TLS context, None for ``ws://``. Blocking: reads files.

    Raises ProviderUnavailable if the certificates cannot be used.
    """
    if not settings.url.startswith("wss"):
        return None
    context = ssl.create_default_context()
    if settings.ca_file is not None:
        path = Path(settings.ca_file).expanduser()
        try:
            context.load_verify_locations(path)
        except (OSError, ssl.SSLError) as error:
            raise ProviderUnavailable(
                NAME, f"ca_file {path} cannot be used: {error.strerror or error}"
            ) from None
    if not settings.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _lost(error: ConnectionClosed) -> ProviderError:
    code = error.rcvd.code if error.rcvd is not None else None
    how = f"closed the connection ({code})" if code is not None else "cut the connection"
    return ProviderError(NAME, f"the server {how}", reason="service")


def _named(settings: FunASRServerSettings, proxy: EnvironmentProxy | None) -> str:
    way = f" through {proxy}" if proxy is not None else ""
    host = urlsplit(settings.url).netloc.rpartition("@")[2]
    return f"the speech recognition service at {host}{way}"


def _refused(status: int, server: str) -> ProviderError:
    if status in (401, 403):
        text = f"{server} refuses the headers ({status}): see asr.headers"
        return ProviderUnavailable(NAME, text, reason="no_key")
    if status == 404:
        return ProviderUnavailable(NAME, f"{server} has nothing at this path (404): see asr.url")
    busy = status in (429, 503)
    return ProviderError(NAME, f"{server} answers {status}", reason="busy" if busy else "service")


def _no_way(error: Exception, server: str, proxy: EnvironmentProxy) -> ProviderError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _unreachable(error, server)
    status = getattr(getattr(error, "response", None), "status_code", None)  # of CONNECT
    why = f"it answers {status}" if status is not None else _cause(error)
    text = f"{server} cannot be reached: {why}; {proxy.hint}"
    return ProviderError(NAME, text, reason="unreachable")


def _cause(error: Exception) -> str:
    number = getattr(error, "errno", None) or 0  # negative: of the name's resolution
    return (
        os.strerror(number)
        if number > 0
        else getattr(error, "strerror", None) or type(error).__name__
    )


def _unreachable(error: Exception, server: str) -> ProviderError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return ProviderUnavailable(
            NAME,
            f"the certificate of {server} is not trusted ({error.verify_message}): set ca_file to "
            "it, or verify_tls: false",
        )
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError | ConnectionResetError):
        text = f"{server} cannot be reached: {_cause(error)}; is asr.url right, and does it run?"
        return ProviderError(NAME, text, reason="unreachable")
    # The outcome of a plain request to a TLS server, and of TLS with a plain server.
    text = f"{server} hangs up: is asr.url to begin with wss:// instead of ws://, or with ws://?"
    return ProviderError(NAME, text, reason="unreachable")
