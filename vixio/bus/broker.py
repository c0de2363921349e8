"""One connection to a broker, kept up: what a backend implements and what all have in common.

A connection that is lost is opened again after a growing delay, and its subscriptions with it.
While there is none, nothing can be published: a message that waited for the connection would be
executed when its caller has long given up.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal
from uuid import uuid4

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError, TooLarge
from vixio.core.backoff import Backoff
from vixio.core.tasks import cancel_and_wait

CONNECT_S: Final = 10.0
"""Seconds for one attempt to connect, subscriptions included."""

SHUT_S: Final = 5.0
"""Seconds for closing a connection."""

STEADY_S: Final = 10.0
"""After a connection that lasted so long the first delay applies again."""

RECONNECT: Final = Backoff(first=0.25, longest=15.0)

Mode = Literal["shared", "broadcast", "replies"]
"""``shared``: each message goes to one of the subscribers. ``broadcast``: to all of them.
``replies``: the queue is this connection's own :attr:`Broker.mailbox`."""

_log = logging.getLogger(__name__)


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


class Broker(ABC):
    """A connection to the broker at ``address``, opened by :meth:`start`.

    A backend implements the abstract methods and calls :meth:`lost` when its connection ends.
    """

    knows_absence: ClassVar[bool] = True
    """Whether the broker says at once that nobody serves a queue."""
    max_bytes: int = 1_000_000
    """Of a message's body and headers."""

    def __init__(self, address: BrokerAddress, *, backoff: Backoff = RECONNECT) -> None:
        self.address = address
        self.mailbox = f"vixio.reply.{uuid4().hex}"
        """A queue of this connection's own, for answers."""
        self.connected = False
        self.fault = ""
        """Why there is no connection; empty while there is one."""
        self.watchers: list[Callable[[bool], None]] = []
        """Called with True when a connection is up, with False when :attr:`fault` is another."""
        self._backoff = backoff
        self._subscriptions: dict[Subscription, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._shutting: asyncio.Future[None] | None = None
        self._closing = False
        self._loss: asyncio.Future[str] | None = None
        self._known = asyncio.Event()

    async def start(self) -> None:
        """Begin to connect in the background. Idempotent."""
        if self._task is None and not self._closing:
            self._task = asyncio.create_task(self._run(), name=f"broker {self.address}")

    async def ready(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""
        await self._known.wait()

    async def close(self) -> None:
        """Close the connection. Idempotent; bounded by :data:`SHUT_S`."""
        self._closing = True
        self._known.set()
        await cancel_and_wait(self._task)
        if self._shutting is not None:
            await asyncio.wait((self._shutting,), timeout=SHUT_S)
            self._shutting.cancel()

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

    def lost(self, reason: str) -> None:
        """Note that the connection has ended. For backends; from the event loop's thread."""
        if self._loss is not None and not self._loss.done():
            self._loss.set_result(reason)

    async def publish(
        self,
        queue: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        answers: bool = False,
    ) -> None:
        """Send a message to a queue.

        ``answers``: it is a request that is answered to :attr:`mailbox` (header ``reply_to``);
        absence of a service is reported by NobodyServes or a message with ``nobody``.
        Raises BrokerError (TooLarge, NobodyServes).
        """
        self._check(body)
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

    @abstractmethod
    async def _reply(self, mailbox: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Send an answer to a mailbox; called when connected. Raises BrokerError."""

    @abstractmethod
    async def _open(self) -> None:
        """Connect. Raises BrokerError."""

    @abstractmethod
    async def _attach(self, subscription: Subscription) -> None:
        """Begin to listen. Raises BrokerError."""

    @abstractmethod
    async def _detach(self, subscription: Subscription) -> None:
        """Stop to listen."""

    @abstractmethod
    async def _shut(self) -> None:
        """Release the connection, whether it is open, half open or lost."""

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _check(self, body: bytes) -> None:
        """Raise BrokerError for a message that cannot be sent now, or never."""
        if not self.connected:
            raise BrokerError("not connected")
        if len(body) > self.max_bytes:
            raise TooLarge(len(body), self.max_bytes)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            began = loop.time()
            await self._once(loop)
            failures = 1 if loop.time() - began >= STEADY_S else failures + 1
            await asyncio.sleep(self._backoff.delay(failures))

    async def _once(self, loop: asyncio.AbstractEventLoop) -> None:
        """Connect, wait until the connection is lost, and clean up."""
        self._loss = loop.create_future()
        try:
            try:
                async with asyncio.timeout(CONNECT_S):
                    await self._open()
                    await self._attach_all()
            except TimeoutError:
                raise BrokerError(f"no connection within {CONNECT_S:g} s") from None
            self._up()
            self._down(await self._loss)
        except Exception as error:  # noqa: BLE001 - third-party code; the next attempt follows
            kind = "" if isinstance(error, BrokerError) else f"{type(error).__name__}: "
            self._down(f"{kind}{error}")
        finally:
            self.connected = False
            # A task of its own: closing the broker in this moment must not leave it half done.
            self._shutting = asyncio.ensure_future(self._shut())
            await asyncio.wait((self._shutting,), timeout=SHUT_S)
            for subscription in self._subscriptions:
                subscription.native = None

    async def _attach_all(self) -> None:
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

    def _up(self) -> None:
        self.connected = True
        self.fault = ""
        self._known.set()
        _log.info("broker connected", extra={"broker": str(self.address)})
        self._tell(up=True)

    def _down(self, reason: str) -> None:
        """Note that there is no connection; a warning once until the next one."""
        first = self.connected or not self._known.is_set()
        before, self.fault = self.fault, " ".join(reason.split())
        _log.log(
            logging.WARNING if first else logging.DEBUG,
            "broker not connected",
            extra={"broker": str(self.address), "reason": self.fault},
        )
        was_up, self.connected = self.connected, False
        self._known.set()
        if was_up or self.fault != before:
            self._tell(up=False)

    def _tell(self, *, up: bool) -> None:
        for watcher in tuple(self.watchers):
            watcher(up)
