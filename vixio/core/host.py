"""Runs a session for every device that its transports accept, and commands the running ones."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from vixio.core import handover
from vixio.core.clock import now
from vixio.core.cluster import Cluster, ClusterUnavailable, Lease, LeaseLost
from vixio.core.cores import own_threads
from vixio.core.daily_turns import DailyTurns
from vixio.core.device import Device, DeviceProfile, ProfileResolver
from vixio.core.history import History
from vixio.core.history_store import HistoryStore
from vixio.core.local_cluster import LocalCluster
from vixio.core.log_fields import logged_as
from vixio.core.metrics import Counters
from vixio.core.pipeline import Pipeline
from vixio.core.session.commands import SessionCommands
from vixio.core.session.directory import SessionDirectory
from vixio.core.session.engine import Engine, EngineFactory
from vixio.core.session.events import DeviceToolsListed
from vixio.core.session.lease_holder import LeaseHolder
from vixio.core.session.log import SessionLog
from vixio.core.session.session import Session
from vixio.core.session.settings import SessionSettings, SharedParts
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.toolset import DEVICE_SOURCE, ToolSet
from vixio.core.tools.types import ToolDefinition
from vixio.core.transport import TRY_AGAIN, DeviceConnection, TransportBase

_log = logging.getLogger(__name__)

PipelineFactory = Callable[[TransportBase, str], Awaitable[Pipeline]]
"""Makes the stations of one session: ``(transport, session_id) -> Pipeline``. Must be quick."""


class SessionHost:
    """Connects transports with engines.

    The factory is called once per device, after its hello was answered: ``create_pipeline``, or
    ``create_engine``, which gets the device, its profile and its tools and is called again when the
    profile changes. ``profile_of`` gives the profiles; without it all devices have the one of
    ``settings``. ``tool_host`` gives sessions their tools and runs them; without one a session has
    its device's only. A device has one session in the whole ``cluster``: a newer connection ends
    the older one. ``shared``: what its sessions have in common, such as their events.
    """

    def __init__(
        self,
        transports: TransportBase | Iterable[TransportBase],
        create_pipeline: PipelineFactory | None = None,
        *,
        create_engine: EngineFactory | None = None,
        profile_of: ProfileResolver | None = None,
        settings: SessionSettings | None = None,
        counters: Counters | None = None,
        histories: HistoryStore | None = None,
        tool_host: ToolRuntime | None = None,
        cluster: Cluster | None = None,
        shared: SharedParts | None = None,
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
        shared = shared or SharedParts()
        self.events = shared.events
        self.events.attach(SessionLog(self.counters))
        self._create_pipeline = create_pipeline
        self._create_engine = create_engine
        self._settings = settings or SessionSettings()
        self._profile_of = profile_of or self._default_profile
        self._tool_host = tool_host
        self._toolsets: dict[str, ToolSet] = {}
        self._cluster = cluster or LocalCluster()
        self._holders: dict[str, LeaseHolder] = {}
        self.commands = SessionCommands(self._find, self._profile_of)
        self._cluster.commands.serve(self.commands)
        self._shared = shared

    @property
    def daily_turns(self) -> DailyTurns:
        """The turns of devices with a limit."""
        return self._shared.daily_turns

    def tools(self, session_id: str) -> ToolSet:
        """Return the tool set of a session that is being set up or runs.

        Raises KeyError when there is none of that id.
        """
        return self._toolsets[session_id]

    async def start(self) -> None:
        """Accept devices. Raises ConfigError if a transport cannot; then none accepts any."""
        # Encoding is most of what a speaking device costs, and the codec lets other threads run.
        encoders = ThreadPoolExecutor(own_threads(), thread_name_prefix="vixio-encode")
        self._shared = replace(self._shared, encoders=encoders)
        try:
            for transport in self.transports:
                await transport.start(functools.partial(self.handle, transport))
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Close all devices; returns when every session has ended."""
        for transport in self.transports:
            await transport.stop()
        await self.daily_turns.close()
        self.events.close()
        if self._shared.encoders is not None:
            self._shared.encoders.shutdown(wait=False, cancel_futures=True)
            self._shared = replace(self._shared, encoders=None)

    def serves(self, session_id: str) -> bool:
        """Return whether this session runs, or is being set up for a connected device."""
        return session_id in self._toolsets

    async def handle(self, transport: TransportBase, connection: DeviceConnection) -> None:
        """Converse with one device until its connection closes or a newer one takes it over."""
        with logged_as(device=connection.device.id, session=connection.session_id):
            await self._handle(transport, connection)

    async def _handle(self, transport: TransportBase, connection: DeviceConnection) -> None:
        device_id = connection.device.id
        holder = self._holders[device_id] = LeaseHolder(connection)
        try:
            await holder.acquire(self._cluster.leases)
            if self._cluster.shared:
                connection.permit = holder.lease
            await self._converse(transport, connection, holder)
        except LeaseLost:
            pass  # a newer connection goes on
        except ClusterUnavailable as error:
            self.counters.add("session.no_lease")
            _log.error("lease not granted", extra={"reason": str(error)})
            await connection.close(TRY_AGAIN, "try again later")
        finally:
            if self._cluster.shared and holder.held:
                await self.histories.written(device_id)
            await holder.end()
            if self._holders.get(device_id) is holder:
                del self._holders[device_id]

    async def _converse(
        self, transport: TransportBase, connection: DeviceConnection, holder: LeaseHolder
    ) -> None:
        session_id, device = connection.session_id, connection.device
        profile = self._profile_of(device)
        opened = self._tool_host.open(device.id, session_id, profile) if self._tool_host else None
        tools = opened.toolset if opened else ToolSet()
        self._toolsets[session_id] = tools

        async def device_tools_ready(definitions: list[ToolDefinition]) -> None:
            tools.replace(DEVICE_SOURCE, definitions)
            names = tuple(tool.name for tool in definitions)
            self.events.publish(DeviceToolsListed(device.id, session_id, now(), names))

        async def make_engine(profile: DeviceProfile) -> Engine:
            if self._create_engine is not None:
                return await self._create_engine(device, profile, tools)
            assert self._create_pipeline is not None  # noqa: S101 - __init__ asked for one of them
            return await self._create_pipeline(transport, session_id)

        if "mcp" in device.features:
            tools.device.expect(self._settings.timeouts.tool_list)
        transport.set_device_tools_callback(session_id, device_tools_ready)
        session: Session | None = None
        try:
            history = self._history(device, holder.lease)
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
                shared=self._shared,
            )
            self.sessions.add(session)
            holder.begin(session)
            await session.run()
        finally:
            if session is not None:
                self.sessions.remove(session)
            self._toolsets.pop(session_id, None)
            if opened is not None:
                await opened.close()

    def _default_profile(self, device: Device) -> DeviceProfile:
        return self._settings.default_profile()

    def _history(self, device: Device, lease: Lease) -> History:
        """Return the device's conversation, whichever process it was with before."""
        history = self.histories.get(device.id, device.sent_id)
        if self._cluster.shared and not self.histories.kept:
            if lease.handover:
                handover.load(history, lease.handover)
            history.listener = handover.Sharing(
                lambda: lease.share_handover(lambda: handover.dump(history))
            )
        return history

    async def _find(self, device_id: str) -> Session | None:
        """Return the session that may act for a device."""
        holder = self._holders.get(device_id)
        return await holder.session() if holder is not None else None

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
