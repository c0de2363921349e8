"""What all sessions of a server share besides the providers: tools, memory, vision, daily turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from zoneinfo import ZoneInfo

from vixio.core.cluster import Cluster
from vixio.core.daily_turns import DailyTurns
from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.runtime import ToolRuntime
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.devices.turn_counts import StoredTurns
from vixio.data.memory.memory import Memory, MemorySettings
from vixio.data.memory.summary import model_summary
from vixio.providers.agent import AgentBackend
from vixio.providers.pool.loader import ProviderLoader
from vixio.providers.pool.warming import WarmingVision
from vixio.providers.vision import VisionProvider
from vixio.settings import Settings
from vixio.web.http.vision_service import VisionService


class SharedServices:
    """Starts the tools and the memory once, with the server or with its first conversation."""

    def __init__(self, tools: ToolRuntime, memory: Memory | None) -> None:
        self._tools = tools
        self._memory = memory
        self._starting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start them, or wait for a start that has begun."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)

    def agent_ready(self) -> None:
        """The agent can answer: it may be asked to summarise what is remembered."""
        if self._memory is not None:
            self._memory.agent_ready.set()

    def memory_opening(self) -> str:
        """Return why what is remembered is not here yet; for the readiness."""
        return self._memory.opening() if self._memory is not None else ""

    async def close(self) -> None:
        """End a start that is in progress, the tools and the memory, in this order. Idempotent."""
        await cancel_and_wait(self._starting)
        await self._tools.close()
        if self._memory is not None:
            await self._memory.stop()

    async def _start(self) -> None:
        # With the first schema of a tool, jsonschema would be imported on the event loop.
        schemas = asyncio.to_thread(import_module, "vixio.core.tools.schemas")
        await asyncio.gather(schemas, self._tools.start())
        if self._memory is not None:
            self._memory.start()


def make_daily_turns(
    settings: Callable[[], Settings], link: Link[Database], cluster: Cluster, counters: Counters
) -> DailyTurns:
    """Return the counts of all processes, kept in the registry.

    ``settings`` returns those in effect: a reload can change the time zone.
    """

    def zone() -> ZoneInfo | None:
        name = settings().assistant.time_zone
        return ZoneInfo(name) if name else None

    return DailyTurns(cluster.limits, StoredTurns(link, counters), zone)


def make_memory(
    settings: Settings,
    link: Link[Database],
    backend: Callable[[], AgentBackend],
    counters: Counters,
) -> Memory | None:
    """Return the memory of conversations and facts; None if the settings want none.

    ``link``: to the registry's database. ``backend`` returns the agent that writes summaries, at
    the time of each.
    """
    memory = settings.memory
    if memory.store == "none":
        return None
    # The phrase book cannot sum up a conversation.
    writes = memory.summary and settings.agent.name != "phrasebook"
    return Memory(
        link,
        counters,
        MemorySettings(keep_days=memory.keep_days),
        model_summary(backend) if writes else None,
    )


def make_vision(
    settings: Settings,
    loader: ProviderLoader[VisionProvider] | None,
    counters: Counters,
    secret: str,
) -> VisionService | None:
    """Return the service; None: photos are not looked at. ``secret`` signs cameras' tokens."""
    if loader is None:
        return None
    return VisionService(
        WarmingVision(loader),
        counters,
        secret,
        timeout=settings.timeouts.vision,
        language=settings.assistant.language,
        photos_per_device=settings.server.limits.photos_per_device,
    )
