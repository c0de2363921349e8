"""Stands between the sessions and the store: loads beside a connection, writes behind a turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from loguru import logger

from vixio.core.errors import VixioError
from vixio.core.history import History, HistoryItem
from vixio.core.history_store import HistoryKeeper
from vixio.core.metrics import Counters
from vixio.memory.device import DeviceMemory
from vixio.memory.facts import PersistentFactStore
from vixio.memory.link import StoreDown, StoreLink, Work
from vixio.memory.records import device_key
from vixio.memory.store import MemoryStore

DAY_S = 86_400.0

Summarise = Callable[[str, Sequence[HistoryItem]], Awaitable[str]]
"""``(the summary so far, what was said since) -> the new summary``; empty: it cannot be done."""


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """``wait``: seconds for which a turn waits for what was said before, once the agent is there.

    ``keep_days``: a device not seen for so long is erased, 0: never. ``flush`` bounds, in seconds,
    how long the end of the server waits for what is not written yet, ``written`` how long a device
    that goes on in another process of it does.
    """

    wait: float = 0.2
    keep_days: float = 365.0
    flush: float = 5.0
    written: float = 0.5
    summary_timeout: float = 30.0
    summaries_at_once: int = 2


class Memory(HistoryKeeper):
    """The memory of all devices of a server.

    ``summarise`` asks the model for summaries; without one, what falls out of the bounds is gone.
    """

    def __init__(
        self,
        link: StoreLink,
        counters: Counters,
        settings: MemorySettings | None = None,
        summarise: Summarise | None = None,
    ) -> None:
        self.link = link
        self.summarise = summarise
        self.settings = settings or MemorySettings()
        self.agent_ready = asyncio.Event()
        """Set it when the agent can answer: until then, waiting for the memory costs nothing."""
        self.facts = PersistentFactStore(link)
        self._counters = counters
        self._devices: dict[str, DeviceMemory] = {}
        self._dropped: set[str] = set()
        self._writing: set[asyncio.Task[None]] = set()
        self._beside: set[asyncio.Task[None]] = set()
        self._cleaning: asyncio.Task[None] | None = None
        self._summaries = asyncio.Semaphore(self.settings.summaries_at_once)

    def start(self) -> None:
        """Begin to open the store, and clean it from now on. Returns at once."""
        self._cleaning = self.spawn(self._keep_clean())

    async def stop(self) -> None:
        """Write what is not written yet, as far as that is possible in ``flush`` seconds."""
        await _cancelled(self._beside)
        if self._writing and self.link.healthy:
            await asyncio.wait(self._writing, timeout=self.settings.flush)
        await _cancelled(self._writing)
        if self.link.healthy:
            await self.facts.flush()
        lost = sum(device.pending for device in self._devices.values())
        if lost:
            logger.bind(turns=lost).warning("turns were not saved in time")
        await self.link.close()

    # ── for the histories ────────────────────────────────────────────────────────────────────

    def key(self, device_id: str) -> str:
        """Return the key of a device in the store."""
        return device_key(device_id)

    def connected(self, key: str, history: History, sent_id: str = "") -> None:
        """Fill ``history`` from the store, beside the connection, and keep what is said.

        ``sent_id``: the device's own spelling of its id. Records of before ids were normalised
        may stand under it; they are moved.
        """
        device = self._devices.get(key)
        if device is None:
            device = self._devices[key] = DeviceMemory(self, key, history)
        self._dropped.discard(key)
        former = device_key(sent_id) if sent_id else key
        device.connected(former if former != key else "")

    def dropped(self, key: str) -> None:
        """Let go of a device that is held no longer, as soon as all of it is written."""
        self._dropped.add(key)
        if key in self._devices:
            self.settled(self._devices[key])

    async def written(self, key: str) -> None:
        """Wait until all of a device is in the store; not long, and not for a store that is down.

        For who ends a conversation that another process of this server goes on with.
        """
        device = self._devices.get(key)
        writing = device.writing if device is not None else None
        if writing is not None and self.link.healthy:
            await asyncio.wait((writing,), timeout=self.settings.written)

    # ── for the devices' memories ────────────────────────────────────────────────────────────

    def spawn(self, work: Coroutine[Any, Any, None], *, writes: bool = False) -> asyncio.Task[None]:
        """Run ``work`` until it ends or the server stops, which waits for what ``writes``."""
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
            logger.bind(error=type(error).__name__).info("a conversation was not summed up")
            return ""
        if summary:
            self.count("summed_up")
        return summary.strip()

    def settled(self, device: DeviceMemory) -> None:
        """Take note that a device has nothing left to do."""
        if device.key in self._dropped and device.idle:
            self._dropped.discard(device.key)
            self._devices.pop(device.key, None)

    def count(self, name: str) -> None:
        """Count something under ``memory.``."""
        self._counters.add(f"memory.{name}")

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _keep_clean(self) -> None:
        """Open the store, erase what is too old, and look again every day."""
        while True:
            work = Work(self._clean)
            try:
                erased = await self.link.call(work)
            except StoreDown:
                await self.link.usable()
                continue
            if erased:
                logger.bind(devices=erased).info("memories that were too old are erased")
            await asyncio.sleep(DAY_S)

    async def _clean(self, store: MemoryStore) -> int:
        days = self.settings.keep_days
        return await store.expire(time.time() - days * DAY_S) if days else 0

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.count("defect")
            logger.opt(exception=error).error("the memory failed unexpectedly")


async def _cancelled(tasks: set[asyncio.Task[None]]) -> None:
    left = set(tasks)
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left)
