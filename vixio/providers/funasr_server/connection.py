"""One WebSocket to a FunASR server: results go to the utterance whose they are."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.funasr_server.messages import Result, read
from vixio.providers.funasr_server.settings import NAME, FunASRServerSettings
from vixio.providers.service_errors import Service
from vixio.providers.service_socket import Endpoint, Frame, ServiceSocket, open_socket, refused_by

if TYPE_CHECKING:
    from vixio.providers.funasr_server.provider import FunASRServerStream

SUBPROTOCOL: Final = "binary"
"""The Python server requires this subprotocol; the C++ server ignores it."""


class Connection:
    """An open WebSocket. ``hotwords``: of its first utterance; the C++ server keeps those.

    ``late``: gets results of utterances that are over.
    """

    def __init__(self, hotwords: str, late: Callable[[Result], None]) -> None:
        self.hotwords = hotwords
        self._late = late
        self._listener: FunASRServerStream | None = None
        self._socket: ServiceSocket

    @classmethod
    async def open(
        cls,
        settings: FunASRServerSettings,
        context: ssl.SSLContext | None,
        hotwords: str,
        late: Callable[[Result], None],
    ) -> Connection:
        """Connect. Raises ProviderError."""
        made = cls(hotwords, late)
        endpoint = Endpoint(
            Service(NAME, "asr"),
            settings.url,
            {name: value.get_secret_value() for name, value in settings.headers.items()},
            (SUBPROTOCOL,),
            context,
            settings.connect_timeout,
            refused=_refused,
            untrusted="set ca_file to it, or verify_tls: false",
        )
        made._socket = await open_socket(endpoint, made._take, made._lost)
        return made

    @property
    def failure(self) -> ProviderError | None:
        """Why nothing can be sent any more."""
        return self._socket.failure

    def attach(self, listener: FunASRServerStream) -> None:
        """Deliver results to ``listener`` from now on."""
        self._listener = listener

    def detach(self) -> None:
        """Stop the delivery: the utterance is over, and the connection is free."""
        self._listener = None

    async def send(self, frame: Frame) -> None:
        """Send a frame, with the WebSocket's back-pressure. Raises ProviderError."""
        await self._socket.send(frame)

    async def close(self) -> None:
        """Close the connection within a timeout. Idempotent, never raises."""
        await self._socket.close()

    def _lost(self, error: ProviderError) -> None:
        if self._listener is not None:
            self._listener.failed(error)

    def _take(self, frame: Frame) -> None:
        result, listener = read(frame), self._listener
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


def _refused(
    service: Service, status: int, body: bytes, headers: Mapping[str, str]
) -> ProviderError:
    if status in (401, 403):
        text = f"{service} refuses the headers ({status}): see asr.headers"
        return ProviderUnavailable(NAME, text, reason="no_key")
    return refused_by(service, status, "url")
