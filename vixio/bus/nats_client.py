"""A client of a NATS server, through nats-py.

The library's own reconnection is off: it would keep requests back and send them when their callers
have given up. :class:`~vixio.bus.upkeep.KeptConnection` connects anew, as with every backend.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import nats.errors
from nats.aio.client import Client
from nats.aio.transport import TcpTransport, WebSocketTransport

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError
from vixio.bus.reports import BrokerReports
from vixio.bus.tls import client_context
from vixio.bus.upkeep import CONNECT_S, SHUT_S

PING_S: Final = 5
"""Seconds between pings; a server that leaves two unanswered is given up."""


class NatsClient(Client):
    """nats-py 2.16 with four mends.

    ``flush`` and ``drain`` take the answer to a ping as the sign that the server has handled what
    was sent; but a ping overtakes a subscription that is still in the buffer. A connection that is
    refused, by either side, leaves its socket open. One that is lost because the server hangs is
    closed only when the server has taken what was sent, which it does not. And who flushes is told
    nothing of its cancellation: a ping that was on its way then went to the closed socket, whose
    error kept ``closed_cb`` from being called, and the task that pings went on for ever.
    """

    async def _send_ping(self, future: asyncio.Future[Any] | None = None) -> None:
        await self._flush_pending(force_flush=True)
        if self.is_connected:
            await super()._send_ping(future)
        elif future is None:
            raise asyncio.CancelledError  # it was, by _close
        else:
            raise nats.errors.ConnectionClosedError

    async def _connect_to_server(self, server: Any) -> None:  # noqa: ANN401 - theirs
        try:
            await super()._connect_to_server(server)
        except BaseException:
            await self.release()
            raise

    async def _process_op_err(self, e: Exception) -> None:
        if self.is_connected:
            self._pending, self._pending_data_size = [], 0
            if isinstance(self._transport, TcpTransport):
                writer = self._transport._io_writer  # noqa: SLF001 - nothing public aborts it
                if writer is not None:
                    writer.transport.abort()
        await super()._process_op_err(e)

    async def release(self) -> None:
        """Close the socket."""
        if not self._transport:
            return
        self._transport.close()  # type: ignore[no-untyped-call]
        if isinstance(self._transport, WebSocketTransport):
            # Closes the HTTP session, which is there without a socket too.
            await self._transport.wait_closed()  # type: ignore[no-untyped-call]
        else:
            # Its wait_closed never returns when a TLS handshake has failed.
            await asyncio.sleep(0)


async def connect(
    address: BrokerAddress,
    closed: Callable[[], Awaitable[None]],
    *,
    inbox: str = "_INBOX",
    ping: int = PING_S,
) -> NatsClient:
    """Return a client that is connected to a server of ``address`` that answers.

    They are tried in any order, so that clients spread over them. ``closed``: called when the
    connection has ended. ``inbox``: the beginning of the subjects for answers. ``ping``: seconds
    between pings. Raises BrokerError that says why there is no connection.
    """
    urls = random.sample(address.urls, len(address.urls))
    # One that hangs must leave time for the others.
    options: dict[str, Any] = {
        "inbox_prefix": inbox,
        "ping_interval": ping,
        "flush_timeout": ping,  # a ping waits no longer for a socket that takes nothing more
        "connect_timeout": int(CONNECT_S) if len(urls) == 1 else int(CONNECT_S / (len(urls) + 1)),
    }
    if address.user:
        options |= {"user": address.user, "password": address.password}
    if address.token:
        options["token"] = address.token
    if address.credentials:
        options["user_credentials"] = address.credentials
    if address.encrypted:
        options["tls"] = client_context(address.tls)
    reports = BrokerReports(str(address))
    while True:
        url = urls.pop()
        try:
            return await _connect(url, str(address), closed, reports, options)
        except BrokerError as error:
            if error.final or not urls:
                raise


async def _connect(
    url: str,
    place: str,
    closed: Callable[[], Awaitable[None]],
    reports: BrokerReports,
    options: dict[str, Any],
) -> NatsClient:
    """Return a client that is connected to one server. ``place``: all of them, for messages."""
    client = NatsClient()
    refusals: list[Exception] = []

    async def on_error(error: Exception) -> None:
        if client.is_connected:
            reports.add(str(error))
        else:
            refusals.append(error)

    try:
        await client.connect(
            url,
            name="vixio",
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            error_cb=on_error,
            closed_cb=closed,
            **options,
        )
    except (nats.errors.Error, OSError, ValueError) as error:
        await client.release()  # not its close, which would wait for a handshake that has failed
        why = refusals[-1] if refusals else error
        raise _explain(why, place) from error
    except BaseException:
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUT_S):
                await shut(client)
        raise
    return client


async def shut(client: NatsClient) -> None:
    """Close a connection, whether it is open, half open or lost."""
    try:
        await client.close()
    except (nats.errors.Error, OSError):
        pass  # it is lost anyway
    await client.release()


def _explain(error: Exception, address: str) -> BrokerError:
    """Return in one line why there is no connection."""
    words = str(error).removeprefix("nats: ") or type(error).__name__
    if "uthorization" in words or "uthentication" in words:
        return BrokerError(
            f"{address} refuses the login: check user, password, token or credentials", final=True
        )
    if isinstance(error, OSError):
        return BrokerError(f"{address} does not answer: {words}")
    return BrokerError(f"{address}: {words}")
