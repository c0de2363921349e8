"""Limits of concurrent calls, per tool and per source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

from vixio.core.errors import ToolError
from vixio.core.tools.types import ToolDefinition


@dataclass(slots=True)
class _Slots:
    """The slots of one tool or source. ``users``: calls that hold a slot or wait for one."""

    limit: int
    free: asyncio.Semaphore
    users: int = 0


class Limits:
    """Slots that calls wait for, first come, first served.

    Slots exist only while they are in use, so tools that come and go leave nothing behind.
    """

    def __init__(self, per_source: Mapping[str, int] | None = None) -> None:
        """``per_source``: concurrent calls by source; others are unlimited."""
        self._per_source = per_source or {}
        self._slots: dict[tuple[str, str], _Slots] = {}

    def limited(self, tool: ToolDefinition) -> bool:
        """Whether calls of ``tool`` need a slot."""
        return bool(tool.options.concurrency or self._per_source.get(tool.source))

    @asynccontextmanager
    async def slot(self, tool: ToolDefinition) -> AsyncIterator[None]:
        """Hold a slot of the tool and one of its source.

        Raises ToolError (``busy``) when there is none within the tool's timeout.
        """
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(tool.options.timeout):
                    for key, limit in (
                        ((tool.source, tool.name), tool.options.concurrency),
                        ((tool.source, ""), self._per_source.get(tool.source, 0)),
                    ):
                        if limit:
                            slots = held.enter_context(self._using(key, limit))
                            await held.enter_async_context(slots.free)
            except TimeoutError:
                message = "the tool is busy with other calls"
                raise ToolError("busy", message, retryable=True) from None
            yield

    @contextmanager
    def _using(self, key: tuple[str, str], limit: int) -> Iterator[_Slots]:
        known = self._slots.get(key)
        if known is None or known.limit != limit:
            known = self._slots[key] = _Slots(limit, asyncio.Semaphore(limit))
        known.users += 1
        try:
            yield known
        finally:
            known.users -= 1
            if not known.users and self._slots.get(key) is known:
                del self._slots[key]
