"""Makes the memory of a server."""

from __future__ import annotations

from collections.abc import Callable

from vixio.core.metrics import Counters
from vixio.memory.create import check_installed, make_store, store_link
from vixio.memory.memory import Memory, MemorySettings
from vixio.memory.summary import model_summary
from vixio.providers.agent import AgentBackend
from vixio.settings import Settings


def make_memory(
    settings: Settings, backend: Callable[[], AgentBackend], counters: Counters
) -> Memory | None:
    """Return the memory that outlives the process; None if the settings want none.

    ``backend`` returns the agent that writes summaries, at the time of each.
    """
    memory = settings.memory
    if memory.store == "none":
        return None
    check_installed(memory.store)
    link = store_link(lambda: make_store(memory.store, memory.path, memory.url.get_secret_value()))
    # The phrase book cannot sum up a conversation.
    writes = memory.summary and settings.agent.name != "phrasebook"
    return Memory(
        link,
        counters,
        MemorySettings(keep_days=memory.keep_days),
        model_summary(backend) if writes else None,
    )
