"""Connects the histories of sessions with the store: loads and writes in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from vixio.core.errors import VixioError
from vixio.core.history import History, HistoryItem
from vixio.core.history_store import HistoryKeeper
from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait
from vixio.core.wall_clock import now_s
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Rejected, Unavailable
from vixio.data.memory.device import DeviceMemory
from vixio.data.memory.facts import PersistentFactStore
from vixio.data.memory.records import device_key
from vixio.data.memory.repository import MemoryRepository, on_memory

_log = logging.getLogger(__name__)

DAY_S = 86_400.0

Summarise = Callable[[str, Sequence[HistoryItem]], Awaitable[str]]
"""``(the summary so far, the items since then) -> the new summary``; empty: none could be made."""


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """How the memory behaves. Times are in seconds.

    ``wait``: a turn waits so long for the earlier turns, counted from when the agent is ready.
    ``keep_days``: a device that was not seen for so long is erased; 0: never. ``flush``: the end of
    the server waits so long for unwritten turns. ``written``: so does a device that continues in
    another process.
    """

    wait: float = 0.2
    keep_days: float = 365.0
    flush: float = 5.0
    written: float = 0.5
    summary_timeout: float = 30.0
    summaries_at_once: int = 2


class Memory(HistoryKeeper):
    """The memory of all devices of a server. ``link``: to the registry's database.

    ``summarise`` asks the model for summaries; without it, turns beyond the bounds are dropped.
    """

    def __init__(
        self,
        link: Link[Database],
        counters: Counters,
        settings: MemorySettings | None = None,
        summarise: Summarise | None = None,
    ) -> None:
        self.link = link
        self.summarise = summarise
        self.settings = settings or MemorySettings()
        self.agent_ready = asyncio.Event()
        """Set it when the agent can answer. Until then, waiting for the memory delays nothing."""
        self.facts = PersistentFactStore(link)
        self.attempted = False
        """Whether the store was opened, or could not be."""
        self._counters = counters
        self._devices: dict[str, DeviceMemory] = {}
        self._dropped: set[str] = set()
        self._writing: set[asyncio.Task[None]] = set()
        self._beside: set[asyncio.Task[None]] = set()
        self._cleaning: asyncio.Task[None] | None = None
        self._summaries = asyncio.Semaphore(self.settings.summaries_at_once)

    def start(self) -> None:
        """Begin to open the store, and to erase old records daily. Returns at once."""
        self._cleaning = self.spawn(self._keep_clean())

    async def stop(self) -> None:
        """Write the unwritten turns, as far as possible within ``flush`` seconds."""
        await cancel_and_wait(*self._beside)
        if self._writing and self.link.healthy:
            await asyncio.wait(self._writing, timeout=self.settings.flush)
        await cancel_and_wait(*self._writing)
        if self.link.healthy:
            await self.facts.flush()
        lost = sum(device.pending for device in self._devices.values())
        if lost:
            _log.warning("turns were not saved in time", extra={"turns": lost})

    def opening(self) -> str:
        """Return that the store is not open yet; for the readiness: a device that comes from
        another process would not be remembered. A store that fails keeps nobody away."""
        return "" if self.attempted else "the memory is still opening"

    # ── for the histories ────────────────────────────────────────────────────────────────────

    def key(self, device_id: str) -> str:
        """Return the key of a device in the store."""
        return device_key(device_id)

    def connected(self, key: str, history: History, sent_id: str = "") -> None:
        """Load ``history`` from the store in the background, and save its turns from now on.

        ``sent_id``: the device's own spelling of its id. Older records, from before ids were
        normalised, may be stored under it; they are moved.
        """
        device = self._devices.get(key)
        if device is None:
            device = self._devices[key] = DeviceMemory(self, key, history)
        self._dropped.discard(key)
        former = device_key(sent_id) if sent_id else key
        device.connected(former if former != key else "")

    def dropped(self, key: str) -> None:
        """Release a device as soon as all of its turns are written."""
        self._dropped.add(key)
        if key in self._devices:
            self.settled(self._devices[key])

    async def written(self, key: str) -> None:
        """Wait until all turns of a device are in the store, for a limited time.

        Used before another process continues the conversation. Does not wait for an unavailable
        store.
        """
        device = self._devices.get(key)
        writing = device.writing if device is not None else None
        if writing is not None and self.link.healthy:
            await asyncio.wait((writing,), timeout=self.settings.written)

    async def reload(self, device_id: str) -> None:
        """Have a device of this process follow what was changed in the store, from its next turn
        on. Waits for it for a limited time, and not for an unavailable store."""
        key = device_key(device_id)
        if (device := self._devices.get(key)) is not None:
            device.connected()
            await self.written(key)

    # ── for the devices' memories ────────────────────────────────────────────────────────────

    def spawn(self, work: Coroutine[Any, Any, None], *, writes: bool = False) -> asyncio.Task[None]:
        """Run ``work`` in the background; the end of the server waits if it ``writes``."""
        task = asyncio.create_task(work)
        (self._writing if writes else self._beside).add(task)
        task.add_done_callback(self._ended)
        return task

    async def wait_for(self, loaded: asyncio.Event) -> None:
        """Wait for ``loaded`` until the agent is ready, and ``wait`` seconds more."""
        waiting = asyncio.create_task(loaded.wait())
        agent = asyncio.create_task(self.agent_ready.wait())
        try:
            await asyncio.wait((waiting, agent), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                await asyncio.wait((waiting,), timeout=self.settings.wait)
        finally:
            waiting.cancel()
            agent.cancel()
        if not loaded.is_set():
            self.count("late")

    async def sum_up(self, before: str, items: Sequence[HistoryItem]) -> str:
        """Return a new summary; empty if none could be made."""
        if self.summarise is None:
            return ""
        try:
            async with self._summaries, asyncio.timeout(self.settings.summary_timeout):
                summary = await self.summarise(before, items)
        except (VixioError, TimeoutError) as error:
            self.count("summary_failed")
            _log.info("conversation not summarised", extra={"error": type(error).__name__})
            return ""
        if summary:
            self.count("summed_up")
        return summary.strip()

    def settled(self, device: DeviceMemory) -> None:
        """Release a device that was dropped, once it has nothing left to do."""
        if device.key in self._dropped and device.idle:
            self._dropped.discard(device.key)
            self._devices.pop(device.key, None)

    def count(self, name: str) -> None:
        """Count something under ``memory.``."""
        self._counters.add(f"memory.{name}")

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _keep_clean(self) -> None:
        """Open the store and erase old records, then again every day."""
        while True:
            clean = on_memory(self._clean)
            try:
                erased = await self.link.call(clean)
            except Unavailable:
                self.attempted = True
                await self.link.usable()
                continue
            except Rejected:  # what is old is so tomorrow
                self.count("rejected")
                erased = 0
            self.attempted = True
            if erased:
                _log.info("old memories erased", extra={"devices": erased})
            await asyncio.sleep(DAY_S)

    async def _clean(self, store: MemoryRepository) -> int:
        days = self.settings.keep_days
        return await store.expire(now_s() - days * DAY_S) if days else 0

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.count("defect")
            _log.error("memory failed unexpectedly", exc_info=error)
