"""Connections to RabbitMQ for :mod:`vixio.bus.rabbitmq`: opened, closed, and their errors."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import aio_pika
from aio_pika.connection import make_url
from aio_pika.exceptions import (
    CONNECTION_EXCEPTIONS,
    AMQPError,
    AuthenticationError,
    InvalidFrameError,
    ProbableAuthenticationError,
    PublishError,
)
from aiormq.connection import TransportFactory

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError, NobodyServes
from vixio.bus.tls import client_context
from vixio.bus.upkeep import CONNECT_S

if TYPE_CHECKING:
    from aio_pika.abc import AbstractConnection
    from yarl import URL

HEARTBEAT_S: Final = 10
"""Seconds; RabbitMQ gives up a client that is silent for two of them, aio-pika a server after
three."""

_ATTACH_S: Final = 2.0
"""Of the seconds for connecting, those for channels and subscriptions."""

_CLOSE_S: Final = 2.5
"""Seconds for taking leave of the server; then the socket is closed. aio-pika waits 2 s for the
server's last frame."""

_PORTS: Final = {"amqp": 5672, "amqps": 5671}

LOST: Final = "the connection was lost"

ERRORS: Final = (*CONNECTION_EXCEPTIONS, ValueError, TypeError)
"""What aio-pika raises; the last two for a routing key or a header that AMQP cannot hold."""


class _Blocked(logging.Filter):
    """Passes on that the server takes no more messages, which nothing else tells an operator."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "blocked" in str(record.msg)


# These log each attempt to connect, tracebacks of lost connections and the bodies of messages;
# Broker logs what an operator needs.
for _name in ("aio_pika", "aiormq.channel"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)
logging.getLogger("aiormq.connection").addFilter(_Blocked())


class _Sockets(TransportFactory):
    """Opens the socket of one connection, and can close it although unsent data is left.

    aio-pika waits for a server that hangs to take that data, and cannot be cancelled then.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        self._writer: asyncio.StreamWriter | None = None

    async def create(
        self, url: URL, **options: object
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(url.host, url.port, ssl=self._context)
        self._writer = writer
        return reader, writer

    @property
    def unsent(self) -> int:
        """Bytes that the server has not taken."""
        return 0 if self._writer is None else self._writer.transport.get_write_buffer_size()

    def abort(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()


@dataclass(frozen=True, slots=True)
class AmqpConnection:
    """An open connection."""

    native: AbstractConnection
    sockets: _Sockets

    async def close(self) -> None:
        """Take leave of the server, for a bounded time."""
        closing = asyncio.create_task(self._close(), name="close a connection")
        await asyncio.wait((closing,), timeout=_CLOSE_S)
        self.sockets.abort()
        await asyncio.wait((closing,))

    async def _close(self) -> None:
        with suppress(*ERRORS):  # it is lost anyway
            await self.native.close()


async def open_connection(address: BrokerAddress) -> AmqpConnection:
    """Connect to the first host that takes the connection. Raises BrokerError."""
    context = client_context(address.tls) if address.encrypted else None
    share = (CONNECT_S - _ATTACH_S) / len(address.hosts)
    refusal = BrokerError(f"{address} names no host")
    for host in address.hosts:
        try:
            async with asyncio.timeout(share):
                return await _connect(address, host, context)
        except TimeoutError:
            refusal = BrokerError(f"{address} does not answer within {share:g} s")
        except BrokerError as error:
            refusal = error
    raise refusal


async def _connect(
    address: BrokerAddress, host: str, context: ssl.SSLContext | None
) -> AmqpConnection:
    place = urlsplit(f"//{host}")
    url = make_url(
        host=place.hostname or host,
        port=place.port or _PORTS[address.scheme],
        login=address.user or "guest",
        password=address.password or "guest",
        virtualhost=address.path or "/",
        ssl=address.encrypted,
        heartbeat=HEARTBEAT_S,
    )
    native = aio_pika.Connection(url, client_properties={"connection_name": "vixio"})
    sockets = native.kwargs["transport_factory"] = _Sockets(context)
    try:
        await native.connect()
    except ERRORS as error:
        refused = isinstance(error, AuthenticationError | ProbableAuthenticationError)
        raise BrokerError(_explain(error, address), final=refused) from error
    return AmqpConnection(native, sockets)


@contextmanager
def broker_errors(what: str) -> Iterator[None]:
    """Turn the library's errors into BrokerError."""
    try:
        yield
    except PublishError:
        raise NobodyServes from None
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # The library ends what waits for a lost connection as if it had been cancelled.
        raise BrokerError(f"{what}: {LOST}") from error
    except ERRORS as error:
        raise BrokerError(f"{what}: {words_of(error) or type(error).__name__}") from error


def words_of(error: BaseException | None) -> str:
    """Return what an error says, which aio-pika keeps beside codes; empty if it says nothing."""
    if error is None:
        return ""
    return next((word for word in reversed(error.args) if isinstance(word, str)), "")


def _explain(error: Exception, address: BrokerAddress) -> str:
    """Return in one line why there is no connection."""
    if isinstance(error, AuthenticationError | ProbableAuthenticationError):
        return f"{address} refuses the login: check user and password"
    if isinstance(error, InvalidFrameError) and "Connection.OpenOk" in str(error):
        host = address.path or "/"
        return f"{address} refuses the virtual host {host!r}: it is missing or not for this user"
    if isinstance(error, ssl.SSLError):
        return f"{address}: {error}"
    if isinstance(error, OSError) and not isinstance(error, AMQPError):
        return f"{address} does not answer: {error.strerror or error}"
    return f"{address}: {words_of(error) or type(error).__name__}"
