"""Runs a session for every device that a transport accepts, and remembers devices between them."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from vixio.core.cores import own_threads
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.neighbours import Neighbours
from vixio.core.pipeline import Pipeline
from vixio.core.session import Session, SessionSettings
from vixio.core.tools.toolset import ToolSet
from vixio.core.tools.types import ToolDefinition
from vixio.core.transport import DeviceConnection, TransportBase

_log = logging.getLogger(__name__)

PipelineFactory = Callable[[TransportBase, str], Awaitable[Pipeline]]
"""Makes the stations of one session: ``(transport, session_id) -> Pipeline``. Must be quick."""

DEVICE_SOURCE = "device"
"""The name under which a device's own tools stand in its session's tool set."""


MAX_DUMP_BYTES = 256 * 1024
"""Of one device's memory, for another process: twenty turns have about 8 KB, a tool's long answers
may make it more."""


class HistoryStore:
    """The histories of the devices seen last, in memory; the oldest is forgotten when it is full.

    ``max_devices`` bounds how many are kept, ``max_turns`` how much of each.
    """

    def __init__(self, max_devices: int = 10_000, max_turns: int = 20) -> None:
        self._histories: OrderedDict[str, History] = OrderedDict()
        self._max_devices = max_devices
        self._max_turns = max_turns

    def get(self, device_id: str) -> History:
        """Return the history of a device; a new one for a device not seen before."""
        history = self._histories.setdefault(device_id, History(self._max_turns))
        self._histories.move_to_end(device_id)
        while len(self._histories) > self._max_devices:
            self._histories.popitem(last=False)
        return history


class SessionHost:
    """Connects a transport with pipelines.

    ``create_pipeline`` is called once per device, after its hello was answered. ``neighbours`` are
    the processes that a device may have been with before, or may still be.
    """

    def __init__(
        self,
        transport: TransportBase,
        create_pipeline: PipelineFactory,
        *,
        settings: SessionSettings | None = None,
        counters: Counters | None = None,
        histories: HistoryStore | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        self.transport = transport
        self.counters = counters or Counters()
        self.histories = histories or HistoryStore()
        self._create_pipeline = create_pipeline
        self._settings = settings or SessionSettings()
        self._toolsets: dict[str, ToolSet] = {}
        self._sessions: dict[str, Session] = {}
        self._neighbours = neighbours or Neighbours()
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
        device_id = connection.info.device_id
        tools = ToolSet()
        self._toolsets[session_id] = tools

        async def device_tools_ready(definitions: list[ToolDefinition]) -> None:
            tools.replace(DEVICE_SOURCE, definitions)

        self.transport.set_device_tools_callback(session_id, device_tools_ready)
        self._present[device_id] += 1
        try:
            history = await self._history(device_id)
            pipeline = await self._create_pipeline(self.transport, session_id)
            session = Session(
                connection,
                pipeline,
                history,
                tools,
                self.counters,
                self._settings,
                self._encoders,
            )
            self._sessions[session_id] = session
            self.counters.add("session.opened")
            await session.run()
        finally:
            self._sessions.pop(session_id, None)
            self._toolsets.pop(session_id, None)
            self.counters.add("session.closed")
            self._present[device_id] -= 1
            if not self._present[device_id]:
                del self._present[device_id]
                self._neighbours.leave(device_id)

    async def _history(self, device_id: str) -> History:
        """Return what the device remembers, wherever it was before."""
        memory = await self._neighbours.claim(device_id)
        history = self.histories.get(device_id)
        # A session that is just being replaced here writes into the very same history.
        if memory and self._present[device_id] == 1:
            history.restore(memory)
        if self._neighbours.share_memory:
            history.changed = lambda: self._neighbours.remember(
                device_id, lambda: history.dump(MAX_DUMP_BYTES)
            )
        return history

    def stats(self) -> dict[str, Any]:
        """Return what a health page shows: sessions, the transport's gauges, all counts."""
        return {
            "sessions": len(self._sessions),
            **self.transport.stats(),
            "counters": self.counters.snapshot(),
        }
