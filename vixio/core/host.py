"""Runs a session for every device that its transports accept, and commands the running ones."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from vixio.core import handover
from vixio.core.cluster import Cluster
from vixio.core.cores import own_threads
from vixio.core.device import Device, DeviceProfile
from vixio.core.history import History
from vixio.core.history_store import HistoryStore
from vixio.core.metrics import Counters
from vixio.core.pipeline import Pipeline
from vixio.core.session.directory import SessionDirectory
from vixio.core.session.engine import Engine, EngineFactory
from vixio.core.session.events import EventBus
from vixio.core.session.log import SessionLog
from vixio.core.session.session import Session, SharedParts
from vixio.core.session.settings import SessionSettings
from vixio.core.tools.runner import ToolHost
from vixio.core.tools.toolset import DEVICE_SOURCE, ToolSet
from vixio.core.tools.types import ToolDefinition
from vixio.core.transport import DeviceConnection, TransportBase

PipelineFactory = Callable[[TransportBase, str], Awaitable[Pipeline]]
"""Makes the stations of one session: ``(transport, session_id) -> Pipeline``. Must be quick."""

ProfileOf = Callable[[Device], DeviceProfile]
"""Returns how a device is served. Cheap; asked again when profiles change."""


class SessionHost:
    """Connects transports with engines.

    The factory is called once per device, after its hello was answered: ``create_pipeline``, or
    ``create_engine``, which gets the device, its profile and its tools and is called again when the
    profile changes. ``profile_of`` gives the profiles; without it all devices have the one of
    ``settings``. ``tool_host`` gives sessions their tools and runs them; without one a session has
    its device's only. ``cluster`` knows the other processes of this server.
    """

    def __init__(
        self,
        transports: TransportBase | Iterable[TransportBase],
        create_pipeline: PipelineFactory | None = None,
        *,
        create_engine: EngineFactory | None = None,
        profile_of: ProfileOf | None = None,
        settings: SessionSettings | None = None,
        counters: Counters | None = None,
        histories: HistoryStore | None = None,
        tool_host: ToolHost | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        """Raises ValueError unless exactly one of the two factories is given."""
        if (create_pipeline is None) == (create_engine is None):
            raise ValueError("give either create_pipeline or create_engine")
        if isinstance(transports, TransportBase):
            transports = (transports,)
        self.transports = tuple(transports)
        self.counters = counters or Counters()
        self.histories = histories or HistoryStore()
        self.sessions = SessionDirectory()
        self.events = EventBus()
        self.events.attach(SessionLog(self.counters))
        self._create_pipeline = create_pipeline
        self._create_engine = create_engine
        self._settings = settings or SessionSettings()
        self._profile_of = profile_of or self._default_profile
        self._tool_host = tool_host
        self._toolsets: dict[str, ToolSet] = {}
        self._cluster = cluster or Cluster()
        self._present: Counter[str] = Counter()
        self._encoders: ThreadPoolExecutor | None = None

    def tools(self, session_id: str) -> ToolSet:
        """Return the tool set of a session that is being set up or runs.

        Raises KeyError when there is none of that id.
        """
        return self._toolsets[session_id]

    async def start(self) -> None:
        """Accept devices."""
        # Encoding is most of what a speaking device costs, and the codec lets other threads run.
        self._encoders = ThreadPoolExecutor(own_threads(), thread_name_prefix="vixio-encode")
        for transport in self.transports:
            await transport.start(functools.partial(self.handle, transport))

    async def stop(self) -> None:
        """Close all devices; returns when every session has ended."""
        for transport in self.transports:
            await transport.stop()
        self.events.close()
        if self._encoders is not None:
            self._encoders.shutdown(wait=False, cancel_futures=True)
            self._encoders = None

    def profiles_changed(self) -> None:
        """Have every session whose device's profile is another one now served by it."""
        for session in self.sessions:
            profile = self._profile_of(session.device)
            if profile != session.profile:
                session.reconfigure(profile)

    async def handle(self, transport: TransportBase, connection: DeviceConnection) -> None:
        """Converse with one device until its connection closes."""
        session_id, device = connection.session_id, connection.device
        profile = self._profile_of(device)
        opened = self._tool_host.open(device.id, session_id) if self._tool_host else None
        tools = opened.toolset if opened else ToolSet()
        self._toolsets[session_id] = tools

        async def device_tools_ready(definitions: list[ToolDefinition]) -> None:
            tools.replace(DEVICE_SOURCE, definitions)

        async def make_engine(profile: DeviceProfile) -> Engine:
            if self._create_engine is not None:
                return await self._create_engine(device, profile, tools)
            assert self._create_pipeline is not None  # noqa: S101 - __init__ asked for one of them
            return await self._create_pipeline(transport, session_id)

        transport.set_device_tools_callback(session_id, device_tools_ready)
        self._present[device.id] += 1
        session: Session | None = None
        try:
            history = await self._history(device)
            session = Session(
                connection,
                await make_engine(profile),
                history,
                tools,
                self.counters,
                self._settings,
                opened,
                profile=profile,
                make_engine=make_engine,
                shared=SharedParts(self.events, self._encoders),
            )
            self.sessions.add(session)
            await session.run()
        finally:
            if session is not None:
                self.sessions.remove(session)
            self._toolsets.pop(session_id, None)
            if opened is not None:
                await opened.close()
            await self._leave(device.id)

    def _default_profile(self, device: Device) -> DeviceProfile:
        settings = self._settings
        return DeviceProfile(language=settings.language, wake_greeting=settings.wake_reply)

    async def _history(self, device: Device) -> History:
        """Return what the device remembers, wherever it was before."""
        cluster = self._cluster
        device_id = device.id
        memory = await cluster.claim(device_id)
        history = self.histories.get(device_id, device.sent_id)
        if cluster.several and not self.histories.kept:
            # A session that is just being replaced here writes into the very same history.
            if memory and self._present[device_id] == 1:
                handover.load(history, memory)
            history.listener = handover.Sharing(
                lambda: cluster.remember(device_id, lambda: handover.dump(history))
            )
        return history

    async def _leave(self, device_id: str) -> None:
        self._present[device_id] -= 1
        if self._present[device_id]:
            return
        if self._cluster.several:
            await self.histories.written(device_id)
        if not self._present[device_id]:  # it may have come back meanwhile
            del self._present[device_id]
            self._cluster.leave(device_id)

    def stats(self) -> dict[str, Any]:
        """Return what a health page shows: sessions, the transports' gauges, all counts."""
        gauges = [transport.stats() for transport in self.transports]
        several = {"transports": gauges} if len(gauges) > 1 else {}
        return {
            "sessions": len(self.sessions),
            **gauges[0],
            **several,
            "connected": sum(each.get("connected", 0) for each in gauges),
            "counters": self.counters.snapshot(),
        }
