"""A node's connection to NATS: messages, requests to other nodes, and JetStream."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import nats.errors
from nats.js import JetStreamContext

from vixio.bus import nats_client
from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError
from vixio.bus.nats_client import NatsClient
from vixio.bus.upkeep import KeptConnection
from vixio.cluster.nats.names import INBOX
from vixio.core.backoff import Backoff
from vixio.core.metrics import Counters
from vixio.core.strict_json import parse_json
from vixio.core.well_formed import well_formed

if TYPE_CHECKING:
    from nats.aio.msg import Msg

JETSTREAM_S: Final = 2.0
"""Longest wait for JetStream; a device waits meanwhile."""

PING_S: Final = 2
"""Seconds between pings: after six a server that hangs is left for another one."""

RECONNECT: Final = Backoff(first=0.1, longest=2.0)
"""Short, because presence is to be true again within seconds."""

Body = dict[str, Any]
Answer = Callable[[Body], Awaitable[Body]]
"""Answers a request. Must be bounded in time."""
Receive = Callable[[Body], None]
"""Takes a message. Must return at once."""

_log = logging.getLogger(__name__)


class NobodyThere(Exception):
    """No node takes the request: the broker's word."""


class Unsendable(BrokerError):
    """The broker never takes this message: it is too large."""


@dataclass(frozen=True, slots=True)
class _Listener:
    subject: str
    take: Callable[[Msg], Awaitable[None]]
    queue: str = ""


class Link(KeptConnection):
    """Kept up. ``joined`` is awaited with each new connection, before anything listens on it.

    Counter: ``cluster.messages.malformed``.
    """

    def __init__(
        self, address: BrokerAddress, joined: Callable[[], Awaitable[None]], counters: Counters
    ) -> None:
        super().__init__(address, backoff=RECONNECT)
        self._joined = joined
        self._counters = counters
        self.refusal = ""
        """Why another attempt cannot help, as of a wrong login; empty: it can."""
        self._client: NatsClient | None = None
        self._listeners: list[_Listener] = []
        self._answering: set[asyncio.Task[None]] = set()

    @property
    def client(self) -> NatsClient:
        """The client. Raises BrokerError without a connection."""
        if self._client is None:
            raise BrokerError("not connected")
        return self._client

    @property
    def jetstream(self) -> JetStreamContext:
        """The storage of the broker. Raises BrokerError without a connection."""
        return self.client.jetstream(timeout=JETSTREAM_S)

    def listen(self, subject: str, receive: Receive) -> None:
        """Take the messages of a subject, in order; before :meth:`start`."""

        async def take(message: Msg) -> None:
            if (body := self._parse(message)) is not None:
                try:
                    receive(body)
                except (LookupError, TypeError, ValueError) as error:
                    self._malformed(message, type(error).__name__)

        self._listeners.append(_Listener(subject, take))

    def answer(self, subject: str, answer: Answer, *, queue: str = "") -> None:
        """Answer the requests of a subject, several at a time; before :meth:`start`.

        ``queue``: of all that give the same one, one gets each request.
        """

        async def take(message: Msg) -> None:
            if (body := self._parse(message)) is None:
                return
            task = asyncio.create_task(self._answer(message, answer, body))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

        self._listeners.append(_Listener(subject, take, queue))

    async def publish(self, subject: str, body: Body, *, reply: str = "") -> None:
        """Send a message. Raises BrokerError; Unsendable for one that the broker never takes."""
        try:
            await self.client.publish(subject, _dump(body), reply)
        except nats.errors.MaxPayloadError as error:
            raise Unsendable(f"cannot send: {error}") from error
        except (nats.errors.Error, OSError, ValueError) as error:
            raise BrokerError(f"cannot send: {error}") from error

    async def request(self, subject: str, body: Body, seconds: float) -> Body:
        """Return the answer of one node. Raises NobodyThere, TimeoutError, BrokerError."""
        try:
            found = await self.client.request(subject, _dump(body), timeout=seconds)
        except nats.errors.NoRespondersError:
            raise NobodyThere from None
        except (nats.errors.TimeoutError, TimeoutError):
            raise TimeoutError from None
        except (nats.errors.Error, OSError, ValueError) as error:
            raise BrokerError(f"cannot send: {error}") from error
        answer = self._parse(found)
        if answer is None:
            raise BrokerError("the answer is malformed")
        return answer

    async def gather(self, subject: str, body: Body, seconds: float, enough: int) -> list[Body]:
        """Return what several nodes answer within ``seconds``, until there is ``enough``."""
        answers: list[Body] = []
        complete = asyncio.Event()

        async def take(message: Msg) -> None:
            if (answer := self._parse(message)) is not None:
                answers.append(answer)
            if len(answers) >= enough or message.headers:  # headers: the word that nobody listens
                complete.set()

        try:
            client = self.client
            inbox = client.new_inbox()
            subscription = await client.subscribe(inbox, cb=take)
            try:
                await self.publish(subject, body, reply=inbox)
                async with asyncio.timeout(seconds):
                    await complete.wait()
            except TimeoutError:
                pass
            finally:
                await subscription.unsubscribe()
        except (nats.errors.Error, OSError, BrokerError):
            pass  # the connection has just ended: what has come is the answer
        return answers

    async def _open(self) -> None:
        try:
            self._client = await nats_client.connect(
                self.address, self._closed, inbox=INBOX, ping=PING_S
            )
            self.refusal = ""
        except BrokerError as error:
            self.refusal = str(error) if error.final else ""
            raise

    async def _opened(self) -> None:
        try:
            await self._joined()
        except BrokerError as error:
            self.refusal = str(error) if error.final else ""
            raise
        try:
            for each in self._listeners:
                await self.client.subscribe(each.subject, queue=each.queue, cb=each.take)
            await self.client.flush()
        except (nats.errors.Error, OSError) as error:
            raise BrokerError(f"cannot listen: {error}") from error

    async def _shut(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await nats_client.shut(client)

    async def _closed(self) -> None:
        self.lost("the connection was lost")

    async def _answer(self, message: Msg, answer: Answer, body: Body) -> None:
        try:
            result: Mapping[str, Any] = await answer(body)
        except (LookupError, TypeError, ValueError) as error:
            self._malformed(message, type(error).__name__)
            return
        try:
            await self.publish(message.reply, dict(result))
        except BrokerError:
            pass  # who asked hears that the connection has ended

    def _parse(self, message: Msg) -> Body | None:
        if not message.data and message.headers:
            return None  # the broker's word that nobody listens
        try:
            body = parse_json(message.data)
        except (ValueError, RecursionError) as error:
            self._malformed(message, type(error).__name__)
            return None
        if isinstance(body, dict):
            return body
        self._malformed(message, "no object")
        return None

    def _malformed(self, message: Msg, error: str) -> None:
        self._counters.add("cluster.messages.malformed")
        _log.error(
            "malformed message on the cluster's bus",
            extra={"subject": message.subject, "error": error},
        )


def _dump(body: Body) -> bytes:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return well_formed(text).encode()
