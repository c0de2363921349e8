"""A broker as a tool source: the tools of its services, while it is connected."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from vixio.bus.address import BrokerAddress
from vixio.bus.announce import ANSWER_SPREAD_S, Announcements
from vixio.bus.bus import ToolBus
from vixio.bus.calls import Route
from vixio.bus.connect import connect, load_client
from vixio.core.errors import ConfigError, ToolError
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.source import Fault, ToolSource
from vixio.core.tools.types import ToolDefinition, ToolOptions
from vixio.tools.broker.caller import ServiceCaller
from vixio.tools.broker.catalogue import Catalogue
from vixio.tools.broker.descriptors import ServiceDescriptor, ToolDescriptor
from vixio.tools.broker.files import read_folder
from vixio.tools.broker.settings import BrokerSettings
from vixio.tools.registry import SourceContext

LOOK_QUIET_S: Final = 0.5
LOOK_S: Final = 3.0
"""A look at the services waits until no further one has answered for so long, and at most so long:
a busy machine may answer later than the rest waits for."""

PING_S: Final = 5.0
"""Seconds that a service gets for showing that it is there."""

_log = logging.getLogger(__name__)


class BrokerSource(ToolSource):
    """The tools of the services on one broker. Without a connection it has none."""

    def __init__(
        self, name: str, settings: BrokerSettings, address: BrokerAddress, context: SourceContext
    ) -> None:
        super().__init__(name)
        self.bus: ToolBus | None = None
        """The bus, once the source has started."""
        self._settings = settings
        self._address = address
        self._counters = context.counters
        self._place = context.place or "tools.broker"
        defaults = ToolOptions(timeout=settings.timeout)
        self._catalogue = Catalogue(self._place, defaults, settings.retries)
        self._followed: Announcements | None = None
        self._tools: tuple[ToolDefinition, ...] = ()
        self._starting: asyncio.Task[None] | None = None
        self._started = asyncio.Event()
        self._rebuilding: asyncio.Handle | None = None
        self._closed = False

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the tools of all services; none while the broker is not connected."""
        return self._tools

    @property
    def pending(self) -> bool:
        """Whether the first attempt is not over."""
        return not self._started.is_set()

    async def start(self) -> None:
        """Begin to connect in the background. Idempotent."""
        if self._starting is None and not self._closed:
            self._starting = asyncio.create_task(self._start(), name=f"broker {self.name}")

    async def ready(self) -> None:
        """Wait for the first attempt to connect, and for the services that are there."""
        await self._started.wait()
        if self.bus is None:
            return
        await self.bus.ready()
        if self.bus.connected and self._followed is not None:
            await asyncio.sleep(2 * ANSWER_SPREAD_S)  # they answer spread over that time

    async def close(self) -> None:
        """Fail all calls and close the connection. Idempotent."""
        self._closed = True
        self._started.set()
        await cancel_and_wait(self._starting)
        if self._rebuilding is not None:
            self._rebuilding.cancel()
        if self._followed is not None:
            await self._followed.stop()
        if self.bus is not None:
            await self.bus.close()

    async def look(self) -> str:
        """Return which services answer and how fast, for `vixio check`."""
        if self.bus is None or not self.bus.connected:
            return ""
        if self._followed is not None:
            await self._followed.settled(LOOK_QUIET_S, LOOK_S)
        announced = self._followed.services() if self._followed is not None else {}
        asked = [
            self._look_at(service, len(announced.get(service.id, ())))
            for service in self._services()
        ]
        return "; ".join(await asyncio.gather(*asked))

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _start(self) -> None:
        settings = self._settings
        try:
            self._catalogue.configure(settings.services, settings.tools)
            if settings.folder:
                found = await asyncio.to_thread(read_folder, Path(settings.folder))
                self._catalogue.configure_from(found)
            bus = await self._connect()
            bus.broker.watchers.append(self._connection_changed)
            await bus.start()
            self.bus = bus
            for service in self._catalogue.services.values():
                if service.response_queue:
                    await bus.listen(service.response_queue)
            if settings.announcements:
                self._followed = await bus.follow(settings.prefix, self._stale)
            self._rebuild()
        except ConfigError as error:
            self._refuse(str(error))
        finally:
            self._started.set()

    async def _connect(self) -> ToolBus:
        # The client of the broker is imported off the event loop; the bus belongs to the loop.
        await asyncio.to_thread(load_client, self._address)
        return connect(self._address, counters=self._counters)

    def _refuse(self, reason: str) -> None:
        self.faults = [Fault(self._place, reason)]
        _log.warning("broker not usable", extra={"location": self._place, "reason": reason})

    def _connection_changed(self, up: bool) -> None:
        self._rebuild()

    def _stale(self) -> None:
        """Rebuild the list once for all announcements of this round of the event loop."""
        if self._rebuilding is None and not self._closed:
            self._rebuilding = asyncio.get_running_loop().call_soon(self._rebuild)

    def _rebuild(self) -> None:
        self._rebuilding = None
        bus = self.bus
        if bus is None or self._closed:
            return
        faults = list(self._catalogue.faults)
        tools: tuple[ToolDefinition, ...] = ()
        if bus.connected:
            announced = self._followed.services() if self._followed is not None else {}
            known = {tool.name: tool for tool in self._tools}
            made = [
                self._definition(bus, tool, service, lively=service.id in announced)
                for tool, service in self._catalogue.tools(announced)
            ]
            # Definitions that stay the same keep their identity, by which others remember them.
            tools = tuple(
                known[tool.name] if known.get(tool.name) == tool else tool for tool in made
            )
            faults += self._catalogue.announced_faults
        elif bus.broker.fault:
            faults.append(Fault(self._place, bus.broker.fault))
        self.faults = faults
        if tools != self._tools:
            self._tools = tools
            self.changed()

    def _definition(
        self, bus: ToolBus, tool: ToolDescriptor, service: ServiceDescriptor, *, lively: bool
    ) -> ToolDefinition:
        options = tool.definition.options
        caller = ServiceCaller(
            bus,
            self._route(service, lively=lively),
            tool.config,
            options.timeout,
            options.idempotent,
            tool.stream,
        )
        return replace(tool.definition, source=self.name, caller=caller)

    def _route(self, service: ServiceDescriptor, *, lively: bool) -> Route:
        return Route(
            service.request_queue,
            service.response_queue,
            service.idle_timeout or self._settings.idle_timeout,
            lively=lively or service.idle_timeout is not None,
            consumer_queue=service.consumer_queue,
        )

    def _services(self) -> list[ServiceDescriptor]:
        announced = self._followed.services() if self._followed is not None else {}
        found = {service.id: service for _, service in self._catalogue.tools(announced)}
        return [*({**self._catalogue.services, **found}).values()]

    async def _look_at(self, service: ServiceDescriptor, instances: int) -> str:
        assert self.bus is not None  # noqa: S101 - looked at by the caller
        if not instances:
            return f"{service.id}: does not announce itself, not asked"
        number = "1 instance" if instances == 1 else f"{instances} instances"
        try:
            seconds = await self.bus.calls.ping(self._route(service, lively=True), PING_S)
        except ToolError as error:
            return f"{service.id}: {number}, no answer: {error}"
        return f"{service.id}: {number}, answers in {seconds * 1000:.1f} ms"
