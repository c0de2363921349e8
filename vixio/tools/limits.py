"""How many calls run at the same time, for each tool and for each source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from vixio.core.errors import ToolError
from vixio.core.tools.types import ToolDefinition


class Limits:
    """Slots that calls wait for, in the order in which they came."""

    def __init__(self, per_source: Mapping[str, int] | None = None) -> None:
        """``per_source``: calls of one source at the same time; a source that is missing: any."""
        self._per_source = per_source or {}
        self._slots: dict[tuple[str, str], tuple[int, asyncio.Semaphore]] = {}

    def limited(self, tool: ToolDefinition) -> bool:
        """Does ``tool`` have to wait for a slot at all?"""
        return bool(tool.options.concurrency or self._per_source.get(tool.source))

    @asynccontextmanager
    async def slot(self, tool: ToolDefinition) -> AsyncIterator[None]:
        """Hold a slot of the tool and one of its source.

        Raises ToolError (``busy``) when there is none within the tool's timeout.
        """
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(tool.options.timeout):
                    for slots in self._of(tool):
                        await held.enter_async_context(slots)
            except TimeoutError:
                message = "the tool has too much to do at the moment"
                raise ToolError("busy", message, retryable=True) from None
            yield

    def _of(self, tool: ToolDefinition) -> list[asyncio.Semaphore]:
        found = []
        for key, limit in (
            ((tool.source, tool.name), tool.options.concurrency),
            ((tool.source, ""), self._per_source.get(tool.source, 0)),
        ):
            if limit:
                known = self._slots.get(key)
                if known is None or known[0] != limit:
                    known = self._slots[key] = (limit, asyncio.Semaphore(limit))
                found.append(known[1])
        return found
