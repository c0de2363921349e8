"""The broker NATS, through nats-py.

The library's own reconnection is off: it would keep requests back and send them when their callers
have given up. :class:`~vixio.bus.broker.Broker` connects anew, as with every backend.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import nats.errors
from nats.aio.client import Client
from nats.aio.transport import WebSocketTransport

from vixio.bus.address import BrokerAddress
from vixio.bus.broker import CONNECT_S, Broker, Message, Subscription
from vixio.bus.errors import BrokerError
from vixio.bus.queues import canonical
from vixio.bus.reports import BrokerReports
from vixio.bus.tls import client_context

if TYPE_CHECKING:
    from nats.aio.msg import Msg

PING_S: Final = 5
"""Seconds between pings; a server that leaves two unanswered is given up."""

_NO_RESPONDERS: Final = "503"
"""Status of the message that the server sends for a request that nobody takes (NATS ADR-4)."""

_HEADER_ROOM: Final = 2_048
"""Of the largest message, for headers, which NATS counts too."""


class _Client(Client):
    """nats-py 2.16 with two mends.

    ``flush`` and ``drain`` take the answer to a ping as the sign that the server has handled what
    was sent; but a ping overtakes a subscription that is still in the buffer. A connection that is
    refused, by either side, leaves its socket open.
    """

    async def _send_ping(self, future: asyncio.Future[Any] | None = None) -> None:
        await self._flush_pending(force_flush=True)
        await super()._send_ping(future)

    async def _connect_to_server(self, server: Any) -> None:  # noqa: ANN401 - theirs
        try:
            await super()._connect_to_server(server)
        except BaseException:
            await self.release()
            raise

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


class NatsBroker(Broker):
    """A connection to a NATS server or cluster."""

    def __init__(self, address: BrokerAddress) -> None:
        super().__init__(address)
        self.mailbox = f"_INBOX.{self.mailbox}"  # where accounts may listen by default
        self._client: _Client | None = None
        self._handling: set[asyncio.Task[None]] = set()
        self._refusal: Exception | None = None
        """Why the last server of the list did not take the connection."""
        self._reports = BrokerReports(str(address))

    def reply_to(self, id: str) -> str:
        """Return a subject for each request: the server's word of absence has no other id."""
        return f"{self.mailbox}.{id}"

    async def _publish(
        self, queue: str, body: bytes, headers: Mapping[str, str], answers: bool
    ) -> None:
        reply = headers.get("reply_to", "") if answers else ""
        await self._send(canonical(queue), body, headers, reply)

    async def _reply(self, mailbox: str, body: bytes, headers: Mapping[str, str]) -> None:
        await self._send(mailbox, body, headers, "")

    async def _send(
        self, subject: str, body: bytes, headers: Mapping[str, str], reply: str
    ) -> None:
        assert self._client is not None  # noqa: S101 - called when connected
        try:
            await self._client.publish(subject, body, reply, dict(headers) or None)
        except (nats.errors.Error, OSError, ValueError) as error:
            raise BrokerError(f"cannot send: {error}") from error

    async def _open(self) -> None:
        address = self.address
        options: dict[str, Any] = {}
        if address.user:
            options |= {"user": address.user, "password": address.password}
        if address.token:
            options["token"] = address.token
        if address.credentials:
            options["user_credentials"] = address.credentials
        if address.encrypted:
            options["tls"] = client_context(address.tls)
        client = self._client = _Client()
        self._refusal = None
        try:
            await client.connect(
                list(address.urls),
                name="vixio",
                allow_reconnect=False,
                max_reconnect_attempts=1,  # of each server of the list, for this connection
                reconnect_time_wait=0,
                connect_timeout=int(CONNECT_S),
                ping_interval=PING_S,
                error_cb=self._error,
                closed_cb=self._closed,
                **options,
            )
        except (nats.errors.Error, OSError, ValueError) as error:
            self._client = None  # its close would wait for a handshake that has failed
            await client.release()
            raise BrokerError(_explain(self._why(error), str(address))) from error
        self.max_bytes = max(_HEADER_ROOM, client.max_payload - _HEADER_ROOM)

    async def _attach(self, subscription: Subscription) -> None:
        assert self._client is not None  # noqa: S101 - called when connected
        shared = subscription.mode == "shared"

        async def take(message: Msg) -> None:
            handler = subscription.handler(_message(message))
            if not shared:
                await handler
                return
            # The library brings the messages of a subscription one after another.
            task = asyncio.ensure_future(handler)
            self._handling.add(task)
            task.add_done_callback(self._handling.discard)

        if subscription.mode == "replies":
            subject = f"{subscription.queue}.*"
        else:
            subject = canonical(subscription.queue)
        try:
            subscription.native = await self._client.subscribe(
                subject, queue=subject if shared else "", cb=take
            )
            await self._client.flush()  # the server knows it: nothing that follows is lost
        except (nats.errors.Error, OSError) as error:
            raise BrokerError(f"cannot listen to {subject}: {error}") from error

    async def _detach(self, subscription: Subscription) -> None:
        try:
            await subscription.native.drain()  # what the server has sent is handled
        except (nats.errors.Error, OSError) as error:
            raise BrokerError(str(error)) from error

    async def _shut(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            try:
                await client.close()
            except (nats.errors.Error, OSError):
                pass  # it is lost anyway
            await client.release()

    async def _error(self, error: Exception) -> None:
        if self.connected:
            self._reports.add(str(error))
        else:
            self._refusal = error

    def _why(self, error: Exception) -> Exception:
        return self._refusal or error

    async def _closed(self) -> None:
        self.lost("the connection was lost")


def _message(message: Msg) -> Message:
    headers = message.headers or {}
    if headers.get("Status") == _NO_RESPONDERS:
        return Message(b"", {"id": message.subject.rpartition(".")[2]}, nobody=True)
    return Message(message.data, headers)


def _explain(error: Exception, address: str) -> str:
    """Return in one line why there is no connection."""
    words = str(error).removeprefix("nats: ") or type(error).__name__
    if "uthorization" in words or "uthentication" in words:
        return f"{address} refuses the login: check user, password, token or credentials"
    if isinstance(error, OSError):
        return f"{address} does not answer: {words}"
    return f"{address}: {words}"
