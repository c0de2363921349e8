"""Runs a session for every device that a transport accepts, and remembers devices between them."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from vixio.core import handover
from vixio.core.cluster import Cluster
from vixio.core.cores import own_threads
from vixio.core.device import Device
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.pipeline import Pipeline
from vixio.core.session import Session, SessionSettings
from vixio.core.tools.runner import ToolHost
from vixio.core.tools.toolset import DEVICE_SOURCE, ToolSet
from vixio.core.tools.types import ToolDefinition
from vixio.core.transport import DeviceConnection, TransportBase

_log = logging.getLogger(__name__)

PipelineFactory = Callable[[TransportBase, str], Awaitable[Pipeline]]
"""Makes the stations of one session: ``(transport, session_id) -> Pipeline``. Must be quick."""


class HistoryKeeper(Protocol):
    """Keeps histories beyond the process. All of it returns at once."""

    def key(self, device_id: str) -> str:
        """Return what stands for a device, in whichever form its id came."""

    def connected(self, key: str, history: History, sent_id: str = "") -> None:
        """Begin to bring ``history`` up to date, and listen to it from now on.

        ``sent_id``: the device's own spelling of its id, which older records may stand under.
        """

    def dropped(self, key: str) -> None:
        """The history of this device is no longer held in memory."""

    async def written(self, key: str) -> None:
        """Wait, for a bounded time, until all that was said is where other processes see it."""


class HistoryStore:
    """The histories of the devices seen last, in memory; the oldest is dropped when it is full.

    ``max_devices`` bounds how many are held, ``max_turns`` and ``max_tokens`` how much of each.
    With a ``keeper`` this is the cache in front of it.
    """

    def __init__(
        self,
        max_devices: int = 10_000,
        max_turns: int = 20,
        max_tokens: int = 6_000,
        keeper: HistoryKeeper | None = None,
    ) -> None:
        self._histories: OrderedDict[str, History] = OrderedDict()
        self._max_devices = max_devices
        self._max_turns = max_turns
        self._max_tokens = max_tokens
        self._keeper = keeper

    def get(self, device_id: str, sent_id: str = "") -> History:
        """Return the history of a device that has connected; a new one if it is not held.

        ``sent_id``: the id in the device's own spelling, for a keeper that knows it under that.
        """
        key = self._keeper.key(device_id) if self._keeper else device_id
        history = self._histories.get(key)
        if history is None:
            history = self._histories[key] = History(self._max_turns, self._max_tokens)
        self._histories.move_to_end(key)
        while len(self._histories) > self._max_devices:
            dropped, _ = self._histories.popitem(last=False)
            if self._keeper is not None:
                self._keeper.dropped(dropped)
        if self._keeper is not None:
            self._keeper.connected(key, history, sent_id)
        return history

    @property
    def kept(self) -> bool:
        """Is there a keeper, which other processes of this server have too?"""
        return self._keeper is not None

    async def written(self, device_id: str) -> None:
        """Wait, for a bounded time, until the keeper has all of a device."""
        if self._keeper is not None:
            await self._keeper.written(self._keeper.key(device_id))


class SessionHost:
    """Connects a transport with pipelines.

    ``create_pipeline`` is called once per device, after its hello was answered. ``tool_host``
    gives sessions their tools and runs them; without one a session has its device's only.
    ``cluster`` are the processes that a device may have been with before, or may still be.
    """

    def __init__(
        self,
        transport: TransportBase,
        create_pipeline: PipelineFactory,
        *,
        settings: SessionSettings | None = None,
        counters: Counters | None = None,
        histories: HistoryStore | None = None,
        tool_host: ToolHost | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self.transport = transport
        self.counters = counters or Counters()
        self.histories = histories or HistoryStore()
        self._create_pipeline = create_pipeline
        self._tool_host = tool_host
        self._settings = settings or SessionSettings()
        self._toolsets: dict[str, ToolSet] = {}
        self._sessions: dict[str, Session] = {}
        self._cluster = cluster or Cluster()
        self._present: Counter[str] = Counter()
        self._encoders: ThreadPoolExecutor | None = None

    @property
    def sessions(self) -> dict[str, Session]:
        """The running sessions by id. Read only."""
        return self._sessions

    def tools(self, session_id: str) -> ToolSet:
        """Return the tool set of a session that is being set up or runs.

        Raises KeyError when there is none of that id.
        """
        return self._toolsets[session_id]

    async def start(self) -> None:
        """Accept devices."""
        # Encoding is most of what a speaking device costs, and the codec lets other threads run.
        self._encoders = ThreadPoolExecutor(own_threads(), thread_name_prefix="vixio-encode")
        await self.transport.start(self.handle)

    async def stop(self) -> None:
        """Close all devices; returns when every session has ended."""
        await self.transport.stop()
        if self._encoders is not None:
            self._encoders.shutdown(wait=False, cancel_futures=True)
            self._encoders = None

    async def handle(self, connection: DeviceConnection) -> None:
        """Converse with one device until its connection closes."""
        session_id = connection.session_id
        device_id = connection.device.id
        opened = self._tool_host.open(device_id, session_id) if self._tool_host else None
        tools = opened.toolset if opened else ToolSet()
        self._toolsets[session_id] = tools

        async def device_tools_ready(definitions: list[ToolDefinition]) -> None:
            tools.replace(DEVICE_SOURCE, definitions)

        self.transport.set_device_tools_callback(session_id, device_tools_ready)
        self._present[device_id] += 1
        try:
            history = await self._history(connection.device)
            pipeline = await self._create_pipeline(self.transport, session_id)
            session = Session(
                connection,
                pipeline,
                history,
                tools,
                self.counters,
                self._settings,
                opened,
                self._encoders,
            )
            self._sessions[session_id] = session
            self.counters.add("session.opened")
            await session.run()
        finally:
            self._sessions.pop(session_id, None)
            self._toolsets.pop(session_id, None)
            if opened is not None:
                await opened.close()
            self.counters.add("session.closed")
            await self._leave(device_id)

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
        """Return what a health page shows: sessions, the transport's gauges, all counts."""
        return {
            "sessions": len(self._sessions),
            **self.transport.stats(),
            "counters": self.counters.snapshot(),
        }
