"""The broker RabbitMQ, through aio-pika.

The topology is that of TrustGraph: a queue is a durable fanout exchange with the queue's canonical
name, published to with an empty routing key. Services of one kind share the RabbitMQ queue
``NAME.vixio`` that is bound to it; ``broadcast`` and ``replies`` are exclusive queues, which end
with their connection. A mailbox is reached through the default exchange.

A queue can outlive its service: TrustGraph's do, and a shared one is kept for :data:`UNUSED_S` when
the broker has restarted. RabbitMQ confirms what it puts there, so the consumers of the queue are
counted before each request.

The library's own reconnection is not used: :class:`~vixio.bus.broker.Broker` connects anew, as with
every backend.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

import aio_pika
from aio_pika.exceptions import AMQPChannelError, ChannelNotFoundEntity
from aiormq.exceptions import ChannelLockedResource

from vixio.bus.address import BrokerAddress
from vixio.bus.amqp import ERRORS, LOST, AmqpConnection, broker_errors, open_connection, words_of
from vixio.bus.broker import Broker, Handler, Message, Subscription
from vixio.bus.errors import BrokerError, NobodyServes
from vixio.bus.queues import canonical
from vixio.bus.reports import BrokerReports
from vixio.bus.wire import seconds_left

if TYPE_CHECKING:
    from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage

UNUSED_S: Final = 60
"""Seconds after which RabbitMQ deletes a shared queue that no service has come back to."""

MAX_KNOWN: Final = 1_024
"""Exchanges of one connection that are known to exist, and queues that are not; others are declared
again."""

_MOST_PREFETCH: Final = 65_535
"""AMQP 0-9-1, ``basic.qos``: a short integer."""


@dataclass(eq=False, slots=True)
class _Link:
    """One connection with its channels.

    ``requests``: with confirms, so that absence is known. ``sends``: everything else.
    ``takes``: subscriptions. ``declares``: exchanges, and queues whose consumers are counted, in a
    channel of its own because a refusal closes it. ``uncounted``: queues that do not exist.
    ``mailbox``: of this connection; RabbitMQ may hold that of the one before for a while.
    """

    connection: AbstractConnection
    requests: AbstractChannel
    sends: AbstractChannel
    takes: AbstractChannel
    declares: AbstractChannel
    mailbox: str
    exchanges: OrderedDict[str, None] = field(default_factory=OrderedDict)
    uncounted: OrderedDict[str, None] = field(default_factory=OrderedDict)
    declaring: asyncio.Lock = field(default_factory=asyncio.Lock)
    attaching: asyncio.Lock = field(default_factory=asyncio.Lock)


class RabbitMqBroker(Broker):
    """A connection to a RabbitMQ node, or to one of a cluster.

    ``max_bytes`` stays below the 16 MB that RabbitMQ takes: client and server hold a message whole,
    and other messages of the connection wait behind it.
    """

    def __init__(self, address: BrokerAddress) -> None:
        super().__init__(address)
        self._connection: AmqpConnection | None = None
        self._link: _Link | None = None
        self._numbers = count()
        self._handling: set[asyncio.Task[None]] = set()
        self._reports = BrokerReports(str(address))

    def reply_to(self, id: str) -> str:
        """Return the mailbox of the connection that is up."""
        return self._link.mailbox if self._link is not None else self.mailbox

    async def _publish(
        self, queue: str, body: bytes, headers: Mapping[str, str], answers: bool
    ) -> None:
        name, link = canonical(queue), self._link
        assert link is not None  # noqa: S101 - called when connected
        await self._declare(link, name)
        channel = link.requests if answers else link.sends
        left = seconds_left(headers) if answers else None
        # A queue that no service reads at the moment does not keep what nobody waits for.
        expiration = None if left is None else max(left, 0.001)
        await self._send(channel, name, "", body, headers, answers, expiration)

    async def _check_served(self, queue: str, consumer_queue: str) -> None:
        link, name = self._link, consumer_queue or f"{canonical(queue)}.vixio"
        assert link is not None  # noqa: S101 - called when connected
        if name in link.uncounted:
            return
        count = await self._consumers(link, name)
        if count == 0 or (count is None and consumer_queue):
            raise NobodyServes
        if count is None:  # others may serve it, from a queue of any name; a return tells if none
            _remember(link.uncounted, name)

    async def _consumers(self, link: _Link, name: str) -> int | None:
        """Return how many take messages from a queue; None: there is no such queue."""
        async with link.declaring:
            await self._reopen(link)
            try:
                with broker_errors(f"cannot count the consumers of {name}"):
                    queue = await link.declares.declare_queue(name, passive=True)
            except BrokerError as error:
                if isinstance(error.__cause__, ChannelNotFoundEntity):
                    return None
                if isinstance(error.__cause__, ChannelLockedResource):
                    return 1  # it is exclusive, and ends with its service's connection
                raise
        return queue.declaration_result.consumer_count or 0

    async def _reopen(self, link: _Link) -> None:
        """Open the channel for declarations anew if a refusal has closed it."""
        if link.declares.is_closed:
            with broker_errors("cannot open a channel"):
                link.declares = await link.connection.channel(publisher_confirms=False)

    async def _reply(self, mailbox: str, body: bytes, headers: Mapping[str, str]) -> None:
        assert self._link is not None  # noqa: S101 - called when connected
        await self._send(self._link.sends, "", mailbox, body, headers)

    async def _send(
        self,
        channel: AbstractChannel,
        exchange: str,
        routing_key: str,
        body: bytes,
        headers: Mapping[str, str],
        mandatory: bool = False,
        expiration: float | None = None,
    ) -> None:
        message = aio_pika.Message(
            body,
            headers=dict(headers),
            content_type="application/json",
            expiration=expiration,
        )
        with broker_errors("cannot send"):
            found = await channel.get_exchange(exchange, ensure=False)
            await found.publish(message, routing_key, mandatory=mandatory)

    async def _declare(self, link: _Link, name: str) -> None:
        """Make sure that an exchange exists, once for each connection."""
        if name in link.exchanges:
            return
        async with link.declaring:
            if name in link.exchanges:
                return
            await self._reopen(link)
            try:
                with broker_errors(f"cannot declare the exchange {name}"):
                    await link.declares.declare_exchange(
                        name, aio_pika.ExchangeType.FANOUT, durable=True
                    )
            except BrokerError as error:
                if isinstance(error.__cause__, AMQPChannelError):
                    self._reports.add(str(error))  # the caller of a tool does not learn it
                raise
            _remember(link.exchanges, name)

    async def _open(self) -> None:
        self._connection = await open_connection(self.address)
        connection = self._connection.native
        with broker_errors("cannot open a channel"):
            link = self._link = _Link(
                connection,
                requests=await connection.channel(publisher_confirms=True, on_return_raises=True),
                sends=await connection.channel(publisher_confirms=False),
                takes=await connection.channel(publisher_confirms=False),
                declares=await connection.channel(publisher_confirms=False),
                mailbox=f"{self.mailbox}.{next(self._numbers)}",
            )
            ended = partial(self._ended, link)
            for each in (connection, link.requests, link.sends, link.takes):
                each.close_callbacks.add(ended)
            takes = await link.takes.get_underlay_channel()
            takes.on_consumer_cancel_callbacks.add(
                lambda _: self._ended(
                    link, None, BrokerError("the broker has deleted a queue that is listened to")
                )
            )

    async def _attach(self, subscription: Subscription) -> None:
        link = self._link
        assert link is not None  # noqa: S101 - called when connected
        channel = link.takes
        shared = subscription.mode == "shared"
        replies = subscription.mode == "replies"
        name = "" if replies else canonical(subscription.queue)
        if name:
            await self._declare(link, name)
        # The prefetch of a channel holds for the consumers that follow.
        async with link.attaching:
            with broker_errors(f"cannot listen to {name or 'the mailbox'}"):
                if shared:
                    # Not a transient one: RabbitMQ 4.3 refuses those unless they are exclusive.
                    queue = await channel.declare_queue(
                        f"{name}.vixio",
                        durable=True,
                        auto_delete=True,
                        arguments={"x-expires": UNUSED_S * 1000},
                    )
                    await channel.set_qos(min(subscription.prefetch, _MOST_PREFETCH))
                else:
                    queue = await channel.declare_queue(
                        link.mailbox if replies else "", exclusive=True, auto_delete=True
                    )
                if name:
                    await queue.bind(name, routing_key="")
                take = self._share if shared else _take
                tag = await queue.consume(partial(take, subscription.handler), no_ack=not shared)
        subscription.native = partial(queue.cancel, tag)

    async def _detach(self, subscription: Subscription) -> None:
        with broker_errors("cannot stop to listen"):
            await subscription.native()

    async def _shut(self) -> None:
        connection, self._connection = self._connection, None
        self._link = None
        if connection is not None:
            await connection.close()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _share(self, handler: Handler, message: AbstractIncomingMessage) -> None:
        """Handle a message in a task of its own: those of the library end with the connection."""
        task = asyncio.create_task(_acknowledge(handler, message), name="take a message")
        self._handling.add(task)
        task.add_done_callback(self._handling.discard)

    def _ended(self, link: _Link, sender: object, error: BaseException | None) -> None:
        if self._link is link:
            self.lost(words_of(error) or LOST)


def _remember(names: OrderedDict[str, None], name: str) -> None:
    names[name] = None
    if len(names) > MAX_KNOWN:
        names.popitem(last=False)


async def _take(handler: Handler, message: AbstractIncomingMessage) -> None:
    await handler(_message(message))


async def _acknowledge(handler: Handler, message: AbstractIncomingMessage) -> None:
    await handler(_message(message))
    with suppress(*ERRORS):  # with its connection lost it is delivered again, and marked so
        await message.ack()


def _message(message: AbstractIncomingMessage) -> Message:
    headers: dict[str, str] = {}
    for key, value in message.headers.items():
        if isinstance(value, bool):
            headers[key] = str(value).lower()
        elif isinstance(value, str | int):
            headers[key] = str(value)
    return Message(message.body, headers, redelivered=bool(message.redelivered))
