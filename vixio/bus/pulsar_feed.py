"""Brings the messages of one Pulsar consumer to the handler of a subscription."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import pulsar
from pulsar.asyncio import Consumer, Reader

from vixio.bus.broker import Message, Subscription
from vixio.bus.pulsar_client import FAULTS, reason
from vixio.core.tasks import cancel_and_wait

QUIET_S: Final = 0.02
"""Without a message for so long, the messages that the library has are handled."""

END_S: Final = 1.0
"""Seconds for the library to say that no message follows; it takes a millisecond."""

DRAIN_S: Final = 2.0
"""Seconds for the messages that are here, before the subscription is closed."""


class Feed:
    """Takes messages until it is closed.

    The messages of a queue that is shared are handled side by side, ``prefetch`` at most, and
    acknowledged when their handlers have returned; those of others are handled in their order.
    """

    def __init__(
        self,
        source: Consumer | Reader,
        subscription: Subscription,
        ended: Callable[[str], None],
        *,
        durable: bool = False,
        own: bool = False,
    ) -> None:
        """``ended`` is called with the reason if the messages end before :meth:`close`.

        ``durable``: the broker keeps a message until it is acknowledged. ``own``: the consumer is
        the only one of its subscription, which goes with it: the broker would keep its name.
        """
        self._source = source
        self._subscription = subscription
        self._ended = ended
        self._durable = durable
        self._own = own
        self._slots = asyncio.Semaphore(subscription.prefetch)
        self._handling: set[asyncio.Task[None]] = set()
        self._taken = 0
        self._waits = False
        self._closing = False
        shared = subscription.mode == "shared"
        self._task = asyncio.create_task(
            self._share() if shared else self._in_order(), name=f"feed {subscription.queue}"
        )
        self._task.add_done_callback(self._done)

    async def close(self) -> None:
        """Handle what is here, and take no more messages. Raises what the library raises."""
        self._closing = True
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self._quiet()
                if self._durable and self._handling:
                    await asyncio.wait(tuple(self._handling))
        await self.end()

    async def end(self) -> None:
        """Take no more messages. Raises what the library raises; bounded by its time-outs.

        Before the client is closed: it forgets the callback of a message that is awaited, and keeps
        its thread and sockets for it.
        """
        self._closing = True
        try:
            await self._leave()
            await asyncio.wait((self._task,), timeout=END_S)
        finally:
            await cancel_and_wait(self._task)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _leave(self) -> None:
        if self._own:
            with suppress(*FAULTS):  # the connection is lost
                await self._source.unsubscribe()
                return
        await self._source.close()

    async def _in_order(self) -> None:
        while True:
            await self._subscription.handler(_message(await self._next()))

    async def _share(self) -> None:
        while True:
            await self._slots.acquire()
            native = await self._next()
            task = asyncio.create_task(self._handle(native))
            self._handling.add(task)
            task.add_done_callback(self._handled)

    async def _next(self) -> pulsar.Message:
        self._waits = True
        if isinstance(self._source, Reader):
            native = await self._source.read_next()
        else:
            native = await self._source.receive()
        self._waits = False
        self._taken += 1
        return native

    async def _handle(self, native: pulsar.Message) -> None:
        await self._subscription.handler(_message(native))
        if self._durable:
            with suppress(*FAULTS):  # the broker brings it to another instance, as redelivered
                await self._source.acknowledge(native)

    def _handled(self, task: asyncio.Task[None]) -> None:
        self._handling.discard(task)
        self._slots.release()

    async def _quiet(self) -> None:
        """Wait until the library has no message left."""
        while not self._task.done():
            taken = self._taken
            await asyncio.sleep(QUIET_S)
            if self._waits and self._taken == taken:
                return

    def _done(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._closing:
            self._ended(f"cannot read {self._subscription.queue}: {reason(error)}")


def _message(native: pulsar.Message) -> Message:
    try:
        headers = native.properties()
    except UnicodeDecodeError:
        headers = {}  # refused as a message without an id
    return Message(native.data(), headers, redelivered=native.redelivery_count() > 0)
