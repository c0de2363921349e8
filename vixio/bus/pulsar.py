"""The broker Apache Pulsar, through pulsar-client.

The library reconnects by itself and sends then what it has kept back, to callers that have given
up. So its client is closed when the connection is seen to be lost, and
:class:`~vixio.bus.broker.Broker` makes another one, as with every backend.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import pulsar
from pulsar.asyncio import Consumer, Producer, PulsarException, Reader

from vixio.bus.address import BrokerAddress
from vixio.bus.broker import Broker, Subscription
from vixio.bus.errors import BrokerError, TooLarge
from vixio.bus.pulsar_client import FAULTS, PORTS, Client, explain, make_client, namespace, reason
from vixio.bus.pulsar_feed import Feed
from vixio.bus.pulsar_producers import Producers
from vixio.bus.queues import canonical, topic
from vixio.core.tasks import cancel_and_wait

SHARED_NAME: Final = "vixio"
"""Name of the subscription that the instances of a service share."""

LOOK_S: Final = 0.25
"""Seconds between looks whether the library has lost the connection. It says so by no event, and
connects again after a tenth of a second at the earliest. A look takes a microsecond."""

PING_S: Final = 5.0
"""Seconds between questions to the broker, and twice that for its answer: a broker that hangs."""

REACH_S: Final = 3.0
"""Seconds for a host of the address to take a connection."""

CLOSE_S: Final = 1.5
"""Seconds for closing the consumers, and again for closing the client."""

QUEUED: Final = 1_000
"""Messages that may wait here for a subscriber of a non-persistent topic; the broker drops those
beyond it. Of a persistent one only as many as are handled at once: others go to other instances."""


class PulsarBroker(Broker):
    """A connection to a Pulsar cluster.

    The path of the address is the namespace of mailboxes and of queues that name none:
    ``pulsar://host/tg/response``. The role that the token stands for needs the rights to produce
    and consume there, and in the namespaces of the services' queues.
    """

    knows_absence = False

    def __init__(self, address: BrokerAddress) -> None:
        super().__init__(address)
        self._namespace = namespace(address)
        self.mailbox = self._topic(self.mailbox)
        self._client: Client | None = None
        self._producers: Producers | None = None
        self._feeds: dict[Subscription, Feed] = {}
        self._watching: tuple[asyncio.Task[None], ...] = ()

    async def _publish(
        self, queue: str, body: bytes, headers: Mapping[str, str], answers: bool
    ) -> None:
        assert self._producers is not None  # noqa: S101 - called when connected
        try:
            await self._producers.send(self._topic(queue), body, headers)
        except PulsarException as error:
            if error.error() == pulsar.Result.MessageTooBig:
                raise TooLarge(len(body), self.max_bytes) from error
            raise BrokerError(f"cannot send: {reason(error)}") from error
        except FAULTS as error:
            raise BrokerError(f"cannot send: {reason(error)}") from error

    async def _reply(self, mailbox: str, body: bytes, headers: Mapping[str, str]) -> None:
        await self._publish(mailbox, body, headers, answers=False)

    def _topic(self, queue: str) -> str:
        """Return the topic of a queue. Raises ValueError."""
        if ":" in queue:
            return topic(queue)
        return f"non-persistent://{self._namespace}/{canonical(queue)}"

    async def _open(self) -> None:
        host = await self._reach()
        client = await asyncio.to_thread(make_client, self.address, host)
        self._client = client
        self._producers = Producers(client)
        try:
            sentinel = await client.create_producer(self.mailbox, batching_enabled=False)
        except FAULTS as error:
            raise BrokerError(explain(error, self.address)) from error
        self._watching = (
            asyncio.create_task(self._look(sentinel), name="look after a Pulsar connection"),
            asyncio.create_task(self._ping(client), name="ping a Pulsar broker"),
        )

    async def _reach(self) -> str:
        """Return the host that takes a connection first. Raises BrokerError.

        The library would try those that are away for seconds, and does not say what is wrong.
        """
        port = PORTS[self.address.scheme]
        tries = [asyncio.create_task(_knock(host, port)) for host in self.address.hosts]
        why = f"no connection within {REACH_S:g} s"
        try:
            async with asyncio.timeout(REACH_S):
                for each in asyncio.as_completed(tries):
                    host, error = await each
                    if error is None:
                        return host
                    why = str(error)
        except TimeoutError:
            pass
        finally:
            for task in tries:
                task.cancel()
        raise BrokerError(f"{self.address} does not answer: {why}")

    async def _attach(self, subscription: Subscription) -> None:
        client = self._client
        assert client is not None  # noqa: S101 - called when connected
        shared = subscription.mode == "shared"
        name = self._topic(subscription.queue)
        persistent = name.startswith("persistent://")
        try:
            if shared:
                made = client.subscribe(
                    name,
                    SHARED_NAME,
                    pulsar.ConsumerType.Shared,
                    receiver_queue_size=subscription.prefetch if persistent else QUEUED,
                )
            elif persistent:
                # A subscription of its own would collect messages after a crash, for ever.
                made = client.create_reader(
                    name, pulsar.MessageId.latest, receiver_queue_size=QUEUED
                )
            else:
                # A new name each time: the broker may still hold the connection that was lost.
                own = f"{SHARED_NAME}-{uuid4().hex}"
                made = client.subscribe(name, own, receiver_queue_size=QUEUED)
            source: Consumer | Reader = await made
        except FAULTS as error:
            raise BrokerError(f"cannot listen to {name}: {reason(error)}") from error
        subscription.native = self._feeds[subscription] = Feed(
            source,
            subscription,
            self.lost,
            durable=shared and persistent,
            own=not shared and not persistent,
        )

    async def _detach(self, subscription: Subscription) -> None:
        feed = self._feeds.pop(subscription, None)
        if feed is None:
            return
        try:
            await feed.close()
        except FAULTS as error:
            raise BrokerError(reason(error)) from error

    async def _shut(self) -> None:
        client, self._client = self._client, None
        producers, self._producers = self._producers, None
        tasks, self._watching = self._watching, ()
        await cancel_and_wait(*tasks)
        feeds, self._feeds = self._feeds, {}
        try:
            async with asyncio.timeout(CLOSE_S):
                await asyncio.gather(
                    *(feed.end() for feed in feeds.values()), return_exceptions=True
                )
        except TimeoutError:
            pass  # a broker that hangs
        if producers is not None:
            producers.stop()
        if client is not None:
            await _close(client)

    # ── the connection ───────────────────────────────────────────────────────────────────────

    async def _look(self, sentinel: Producer) -> None:
        """Report the loss of the connection.

        ``sentinel`` sends to the mailbox, so that it is connected to the same broker.
        """
        while sentinel.is_connected():  # noqa: ASYNC110 - the library has no event for it
            await asyncio.sleep(LOOK_S)
        self.lost("the connection was lost")

    async def _ping(self, client: Client) -> None:
        """Report a broker that does not answer."""
        while True:
            await asyncio.sleep(PING_S)
            try:
                async with asyncio.timeout(2 * PING_S):
                    await client.get_topic_partitions(self.mailbox)
            except TimeoutError:
                self.lost(f"the broker did not answer within {2 * PING_S:g} s")
                return
            except FAULTS as error:
                self.lost(f"the broker does not answer: {reason(error)}")
                return


async def _knock(host: str, port: int) -> tuple[str, OSError | None]:
    """Return ``host``, and why it takes no connection."""
    split = urlsplit(f"//{host}")
    try:
        _, writer = await asyncio.open_connection(split.hostname, split.port or port)
    except OSError as error:
        return host, error
    writer.close()
    return host, None


async def _close(client: Client) -> None:
    """Close a client. What it has not sent is dropped."""
    try:
        async with asyncio.timeout(CLOSE_S):
            await asyncio.to_thread(client.end)
    except (*FAULTS, TimeoutError):
        # Not connected, or a broker that hangs: end it without the broker.
        with suppress(*FAULTS):
            await asyncio.to_thread(client.shutdown)
