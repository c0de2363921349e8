"""The broker NATS, through nats-py."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import nats.errors

from vixio.bus import nats_client
from vixio.bus.address import BrokerAddress
from vixio.bus.broker import Broker, Message, Subscription
from vixio.bus.errors import BrokerError
from vixio.bus.nats_client import NatsClient
from vixio.bus.queues import canonical

if TYPE_CHECKING:
    from nats.aio.msg import Msg

_NO_RESPONDERS: Final = "503"
"""Status of the message that the server sends for a request that nobody takes (NATS ADR-4)."""

_HEADER_ROOM: Final = 2_048
"""Of the largest message, for headers, which NATS counts too."""


class NatsBroker(Broker):
    """A connection to a NATS server or cluster."""

    def __init__(self, address: BrokerAddress) -> None:
        super().__init__(address)
        self.mailbox = f"_INBOX.{self.mailbox}"  # where accounts may listen by default
        self._client: NatsClient | None = None
        self._handling: set[asyncio.Task[None]] = set()

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
        client = self._client = await nats_client.connect(self.address, self._closed)
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
            await nats_client.shut(client)

    async def _closed(self) -> None:
        self.lost("the connection was lost")


def _message(message: Msg) -> Message:
    headers = message.headers or {}
    if headers.get("Status") == _NO_RESPONDERS:
        return Message(b"", {"id": message.subject.rpartition(".")[2]}, nobody=True)
    return Message(message.data, headers)
