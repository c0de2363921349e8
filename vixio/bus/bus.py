"""The bus of tool services: calls, services and announcements over one broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vixio.bus.announce import Announcements, Announcer
from vixio.bus.calls import GONE, Calls, Route
from vixio.bus.serving import Invoke, Serving, ServingLimits
from vixio.bus.wire import Request
from vixio.core.metrics import Counters

if TYPE_CHECKING:
    from vixio.bus.announce import Announcement
    from vixio.bus.broker import Broker


class ToolBus:
    """What a process does over one broker. Start it before use, and close it."""

    def __init__(self, broker: Broker, *, counters: Counters | None = None) -> None:
        self.broker = broker
        self.counters = counters or Counters()
        self.calls = Calls(broker, self.counters)
        self._response_queues: set[str] = set()
        self._started = False
        broker.watchers.append(self._changed)

    @property
    def connected(self) -> bool:
        """Whether the broker is connected."""
        return self.broker.connected

    async def start(self) -> None:
        """Begin to connect in the background. Idempotent."""
        if not self._started:
            self._started = True
            await self.broker.subscribe(self.broker.mailbox, "replies", self.calls.take)
        await self.broker.start()

    async def ready(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""
        await self.broker.ready()

    async def close(self) -> None:
        """Fail all calls and close the connection. Idempotent."""
        await self.calls.close()
        await self.broker.close()

    async def call(
        self,
        route: Route,
        request: Request,
        timeout: float,
        on_piece: Callable[[str], None] | None = None,
    ) -> str:
        """Return the answer of a service; see :meth:`vixio.bus.calls.Calls.call`."""
        return await self.calls.call(route, request, timeout, on_piece)

    async def listen(self, response_queue: str) -> None:
        """Take answers from the response queue of services that do not use ``reply_to``."""
        if response_queue not in self._response_queues:
            self._response_queues.add(response_queue)
            await self.broker.subscribe(response_queue, "broadcast", self.calls.take)

    async def serve(
        self,
        request_queue: str,
        invoke: Invoke,
        *,
        response_queue: str = "",
        limits: ServingLimits | None = None,
    ) -> Serving:
        """Begin to serve a queue; stop it by :meth:`~vixio.bus.serving.Serving.stop`."""
        serving = Serving(
            self.broker,
            request_queue,
            response_queue,
            invoke,
            limits=limits,
            counters=self.counters,
        )
        await serving.start()
        return serving

    async def announce(self, announcement: Announcement, prefix: str) -> Announcer:
        """Begin to announce a service; stop it by :meth:`~vixio.bus.announce.Announcer.stop`."""
        announcer = Announcer(self.broker, announcement, prefix)
        await announcer.start()
        return announcer

    async def follow(self, prefix: str, changed: Callable[[], None]) -> Announcements:
        """Follow the announcements of services; ``changed`` is called when they differ."""
        announcements = Announcements(self.broker, prefix, changed, self.counters)
        await announcements.start()
        return announcements

    def _changed(self, up: bool) -> None:
        if not up:
            self.calls.fail_all(GONE)
