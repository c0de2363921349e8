"""What all sessions and conversations of a server share besides the providers: tools and memory."""

from __future__ import annotations

import asyncio
from importlib import import_module

from vixio.core.tasks import cancel_and_wait
from vixio.memory.memory import Memory
from vixio.tools.runtime import ToolRuntime


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
        schemas = asyncio.to_thread(import_module, "vixio.tools.schemas")
        await asyncio.gather(schemas, self._tools.start())
        if self._memory is not None:
            self._memory.start()
