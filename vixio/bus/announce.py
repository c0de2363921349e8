"""Services announce themselves and their tools; callers follow the announcements.

On the queue ``PREFIX.announce``, to everybody, at the start, every 10 s and when somebody asks::

    {"v": 1, "instance": "…", "ttl": 30, "service": {…}, "tools": [{…}, …]}
    {"v": 1, "instance": "…", "gone": true}

``service`` and ``tools`` are the two levels of the tool-service description. A caller asks on
``PREFIX.who`` with ``{"v": 1}``. An instance that was silent for ``ttl`` seconds is gone.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

from vixio.bus.broker import Broker, Message, Subscription
from vixio.bus.errors import BrokerError
from vixio.bus.queues import beside
from vixio.bus.wire import BadMessage, dump, load
from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait

EVERY_S: Final = 10.0
TTL_S: Final = 30.0
LONGEST_TTL_S: Final = 300.0

MAX_INSTANCES: Final = 1_024
MAX_TOOLS: Final = 256
"""Of one service; as many as a source may have."""

ANSWER_SPREAD_S: Final = 0.1
"""Answers to ``who`` are spread over this time, since every instance answers."""

_SEND_S: Final = 5.0
_MAX_BYTES: Final = 1_000_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Announcement:
    """What an instance offers. ``service`` and ``tools``: descriptors, as they were written."""

    instance: str
    service: Mapping[str, Any]
    tools: Sequence[Mapping[str, Any]] = ()
    ttl: float = TTL_S

    @property
    def service_id(self) -> str:
        """The id of the service."""
        return str(self.service["id"])

    def encode(self) -> bytes:
        """Return the body."""
        return dump(
            {
                "v": 1,
                "instance": self.instance,
                "ttl": self.ttl,
                "service": dict(self.service),
                "tools": [dict(tool) for tool in self.tools],
            }
        )

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Announcement:
        """Return the announcement in a message. Raises BadMessage."""
        service, tools = message.get("service"), message.get("tools", [])
        ttl = message.get("ttl", TTL_S)
        if not isinstance(service, dict) or not isinstance(service.get("id"), str):
            raise BadMessage("service")
        if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
            raise BadMessage("tools")
        if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not ttl > 0:
            raise BadMessage("ttl")
        ttl = min(float(ttl), LONGEST_TTL_S)
        return cls(_instance(message), service, tuple(tools[:MAX_TOOLS]), ttl)


class Announcer:
    """Announces one instance until it is stopped."""

    def __init__(self, broker: Broker, announcement: Announcement, prefix: str) -> None:
        self.announcement = announcement
        self._broker = broker
        self._queue = beside(prefix, "announce")
        self._who = beside(prefix, "who")
        self._asked = asyncio.Event()
        self._subscription: Subscription | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Announce now and from time to time."""
        self._broker.watchers.append(self._connected)
        self._subscription = await self._broker.subscribe(self._who, "broadcast", self._is_asked)
        self._task = asyncio.create_task(self._run(), name="announce a tool service")

    async def stop(self) -> None:
        """Announce that the instance goes."""
        if self._connected in self._broker.watchers:
            self._broker.watchers.remove(self._connected)
        await cancel_and_wait(self._task)
        if self._subscription is not None:
            await self._broker.unsubscribe(self._subscription)
        gone = {"v": 1, "instance": self.announcement.instance, "gone": True}
        await self._send(dump(gone))

    async def update(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Offer other tools from now on."""
        before = self.announcement
        self.announcement = Announcement(before.instance, before.service, tools, before.ttl)
        self._asked.set()

    def _connected(self, up: bool) -> None:
        if up:
            self._asked.set()

    async def _is_asked(self, message: Message) -> None:
        self._asked.set()

    async def _run(self) -> None:
        while True:
            self._asked.clear()
            await self._send(self.announcement.encode())
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await self._asked.wait()
                    # Questions of this time are answered once.
                    await asyncio.sleep(random.uniform(0, ANSWER_SPREAD_S))  # noqa: S311 - no secret

    async def _send(self, body: bytes) -> None:
        if not self._broker.connected:
            return
        with suppress(BrokerError, TimeoutError):  # the next one follows
            async with asyncio.timeout(_SEND_S):
                await self._broker.publish(self._queue, body, {})


@dataclass(slots=True)
class _Instance:
    announcement: Announcement
    expires: float
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)


class Announcements:
    """The instances that have announced themselves and are not gone.

    ``changed`` is called when what they offer has changed. While the broker is away nobody is
    forgotten at once: the time to live decides. Counters: ``bus.announcements.bad``, ``.refused``.
    """

    def __init__(
        self, broker: Broker, prefix: str, changed: Callable[[], None], counters: Counters
    ) -> None:
        self._broker = broker
        self._queue = beside(prefix, "announce")
        self._who = beside(prefix, "who")
        self._changed = changed
        self._counters = counters
        self._instances: dict[str, _Instance] = {}
        self._subscription: Subscription | None = None
        self._asking: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        """Set by the first announcement of an instance."""
        self._asked_at = 0.0
        self.answered: dict[str, float] = {}
        """Instance → seconds from the last question to its answer."""

    async def start(self) -> None:
        """Begin to follow; every new connection asks who is there."""
        self._broker.watchers.append(self._connected)
        self._subscription = await self._broker.subscribe(self._queue, "broadcast", self._take)
        if self._broker.connected:
            self._connected(True)

    async def stop(self) -> None:
        """Stop to follow."""
        if self._connected in self._broker.watchers:
            self._broker.watchers.remove(self._connected)
        await cancel_and_wait(self._asking)
        for instance in self._instances.values():
            if instance.timer is not None:
                instance.timer.cancel()
        self._instances.clear()
        if self._subscription is not None:
            await self._broker.unsubscribe(self._subscription)

    def services(self) -> dict[str, list[Announcement]]:
        """Return the announcements by id of the service, the oldest instance first."""
        found: dict[str, list[Announcement]] = {}
        for instance in self._instances.values():
            found.setdefault(instance.announcement.service_id, []).append(instance.announcement)
        return found

    async def ask(self) -> None:
        """Ask all instances to announce themselves. Raises BrokerError."""
        self._asked_at = perf_counter()
        self.answered.clear()
        await self._broker.publish(self._who, dump({"v": 1}), {})

    async def settled(self, quiet: float, longest: float) -> None:
        """Ask, and wait until no new instance has answered for ``quiet`` seconds.

        At most ``longest`` seconds. Never raises: without a connection there is no answer.
        """
        await self._ask_quietly()
        with suppress(TimeoutError):
            async with asyncio.timeout(longest):
                while await self._more_within(quiet):
                    pass

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _more_within(self, seconds: float) -> bool:
        self._news.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._news.wait()
        return False

    def _connected(self, up: bool) -> None:
        if up and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(self._ask_quietly(), name="ask for tool services")

    async def _ask_quietly(self) -> None:
        with suppress(BrokerError, TimeoutError):  # they announce themselves within 10 s
            async with asyncio.timeout(_SEND_S):
                await self.ask()

    async def _take(self, message: Message) -> None:
        """Take an announcement. Never raises: it may be anything."""
        try:
            if len(message.body) > _MAX_BYTES:
                raise BadMessage("size")
            body = load(message.body)
            if body.get("v") != 1:
                return  # of a later version
            if body.get("gone") is True:
                self._forget(_instance(body))
                return
            announcement = Announcement.from_message(body)
        except BadMessage as error:
            self._counters.add("bus.announcements.bad")
            _log.debug("announcement not understood", extra={"part": str(error)})
            return
        self._keep(announcement)

    def _keep(self, announcement: Announcement) -> None:
        name = announcement.instance
        known = self._instances.get(name)
        if known is None and len(self._instances) >= MAX_INSTANCES:
            self._counters.add("bus.announcements.refused")
            return
        self.answered.setdefault(name, perf_counter() - self._asked_at)
        loop = asyncio.get_running_loop()
        expires = loop.time() + announcement.ttl
        if known is None:
            known = self._instances[name] = _Instance(announcement, expires)
            known.timer = loop.call_at(expires, self._expire, name)
            self._news.set()
            self._changed()
            return
        known.expires = expires
        if known.announcement != announcement:
            known.announcement = announcement
            self._changed()

    def _expire(self, name: str) -> None:
        known = self._instances.get(name)
        if known is None:
            return
        loop = asyncio.get_running_loop()
        if known.expires > loop.time():
            known.timer = loop.call_at(known.expires, self._expire, name)
            return
        _log.info("tool service silent", extra={"service": known.announcement.service_id})
        self._forget(name)

    def _forget(self, name: str) -> None:
        known = self._instances.pop(name, None)
        if known is None:
            return
        if known.timer is not None:
            known.timer.cancel()
        self._changed()


def _instance(message: Mapping[str, Any]) -> str:
    name = message.get("instance")
    if not isinstance(name, str) or not 0 < len(name) <= 200:
        raise BadMessage("instance")
    return name
