"""One connection to a broker, kept up: what a backend implements and what all have in common.

A connection that is lost is opened again after a growing delay, and its subscriptions with it.
While there is none, nothing can be published: a message that waited for the connection would be
executed when its caller has long given up.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from uuid import uuid4

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError, TooLarge
from vixio.bus.upkeep import CONNECT_S, RECONNECT, SHUT_S, KeptConnection
from vixio.core.backoff import Backoff

Mode = Literal["shared", "broadcast", "replies"]
"""``shared``: each message goes to one of the subscribers. ``broadcast``: to all of them.
``replies``: the queue is this connection's own :attr:`Broker.mailbox`."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message. ``redelivered``: an earlier subscriber may have had it already.

    ``nobody``: no message, but the broker's word that nobody takes the request with this ``id``.
    """

    body: bytes
    headers: Mapping[str, str]
    redelivered: bool = False
    nobody: bool = False


Handler = Callable[[Message], Awaitable[None]]
"""Takes a message. Where the broker waits for an acknowledgement, it gets it on the return."""


@dataclass(eq=False, slots=True)
class Subscription:
    """A queue that is listened to, over all connections. ``prefetch``: messages in work at once."""

    queue: str
    mode: Mode
    handler: Handler
    prefetch: int = 64
    native: Any = field(default=None, repr=False)
    """What the backend keeps for the connection that is up."""


class Broker(KeptConnection):
    """A connection to the broker at ``address``, opened by :meth:`start`.

    A backend implements the abstract methods and calls :meth:`lost` when its connection ends.
    """

    knows_absence: ClassVar[bool] = True
    """Whether the broker says at once that nobody serves a queue."""
    max_bytes: int = 1_000_000
    """Of a message's body and headers."""

    def __init__(self, address: BrokerAddress, *, backoff: Backoff = RECONNECT) -> None:
        super().__init__(address, backoff=backoff)
        self.mailbox = f"vixio.reply.{uuid4().hex}"
        """A queue of this connection's own, for answers."""
        self._subscriptions: dict[Subscription, None] = {}

    async def subscribe(
        self, queue: str, mode: Mode, handler: Handler, *, prefetch: int = 64
    ) -> Subscription:
        """Listen to ``queue`` from now on, with this connection and all later ones."""
        subscription = Subscription(queue, mode, handler, prefetch)
        self._subscriptions[subscription] = None
        if self.connected:
            try:
                async with asyncio.timeout(CONNECT_S):
                    await self._attach(subscription)
            except (BrokerError, TimeoutError) as error:
                # The subscription belongs to the next connection.
                self.lost(f"cannot listen to {queue}: {error}")
        return subscription

    async def unsubscribe(self, subscription: Subscription) -> None:
        """Take no more messages from the queue; those that are here are handled."""
        self._subscriptions.pop(subscription, None)
        if self.connected and subscription.native is not None:  # else the connection's task does it
            with suppress(BrokerError, TimeoutError):  # it ends with the connection
                async with asyncio.timeout(SHUT_S):
                    await self._detach(subscription)
            subscription.native = None

    async def publish(
        self,
        queue: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        answers: bool = False,
        consumer_queue: str = "",
    ) -> None:
        """Send a message to a queue.

        ``answers``: it is a request that is answered to :attr:`mailbox` (header ``reply_to``);
        absence of a service is reported by NobodyServes or a message with ``nobody``.
        ``consumer_queue``: the RabbitMQ queue of a service that names it itself.
        Raises BrokerError (TooLarge, NobodyServes).
        """
        self._check(body)
        if answers:
            await self._check_served(queue, consumer_queue)
        await self._publish(queue, body, headers, answers)

    async def reply(self, mailbox: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Send an answer to the mailbox of a caller. Raises BrokerError (TooLarge)."""
        self._check(body)
        await self._reply(mailbox, body, headers)

    def reply_to(self, id: str) -> str:
        """Return the header ``reply_to`` for the request ``id``."""
        return self.mailbox

    @abstractmethod
    async def _publish(
        self, queue: str, body: bytes, headers: Mapping[str, str], answers: bool
    ) -> None:
        """Send a message to a queue; called when connected. Raises BrokerError."""

    async def _check_served(self, queue: str, consumer_queue: str) -> None:
        """Raise NobodyServes if the broker keeps requests although no service takes them."""

    @abstractmethod
    async def _reply(self, mailbox: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Send an answer to a mailbox; called when connected. Raises BrokerError."""

    @abstractmethod
    async def _attach(self, subscription: Subscription) -> None:
        """Begin to listen. Raises BrokerError."""

    @abstractmethod
    async def _detach(self, subscription: Subscription) -> None:
        """Stop to listen."""

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _check(self, body: bytes) -> None:
        """Raise BrokerError for a message that cannot be sent now, or never."""
        if not self.connected:
            raise BrokerError("not connected")
        if len(body) > self.max_bytes:
            raise TooLarge(len(body), self.max_bytes)

    async def _opened(self) -> None:
        """Listen to all queues, to those too that are added or dropped while this goes on."""
        attached: dict[Subscription, None] = {}
        while attached.keys() != self._subscriptions.keys():
            for subscription in tuple(self._subscriptions):
                if subscription not in attached and subscription in self._subscriptions:
                    await self._attach(subscription)
                    attached[subscription] = None
            for subscription in attached.keys() - self._subscriptions.keys():
                await self._detach(subscription)
                subscription.native = None
                del attached[subscription]

    def _forget(self) -> None:
        for subscription in self._subscriptions:
            subscription.native = None
