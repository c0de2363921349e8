"""What is written behind: contacts of devices and uses of tokens. Nothing waits for it.

While the database cannot be reached it is kept, within bounds, and written when it is back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from vixio.core.metrics import Counters
from vixio.database.database import Database
from vixio.database.link import Link, Operation, Unavailable
from vixio.devices.tokens import IssuedToken
from vixio.devices.visits import Seen, Visits

GATHER_S: Final = 0.5
"""So long more notes are waited for: a storm of connects is a few transactions."""

MAX_KEPT: Final = 10_000
"""Of devices, and of tokens. Then the oldest are dropped, and counted."""

T = TypeVar("T")

FLUSH_S: Final = 3.0
"""How long the end of the server waits for what is not written."""


@dataclass(slots=True)
class _Pending:
    seen: dict[str, Seen] = field(default_factory=dict)
    issued: dict[str, IssuedToken] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.seen or self.issued or self.used)


class Notes:
    """``replaced`` receives the ids of tokens that are void, since a newer one is in use."""

    def __init__(
        self,
        link: Link[Database],
        counters: Counters,
        replaced: Callable[[Sequence[str]], None],
    ) -> None:
        self._link = link
        self._counters = counters
        self._replaced = replaced
        self._pending = _Pending()
        self._writing = _Pending()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._write())

    async def stop(self) -> None:
        """Write what is left, for a bounded time. Idempotent."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        left = self._pending
        left.seen = {**self._writing.seen, **left.seen}
        left.issued |= self._writing.issued
        left.used |= self._writing.used
        if left and self._link.healthy:
            try:
                async with asyncio.timeout(FLUSH_S):
                    await self._link.call(Operation(partial(_write, left)))
            except (Unavailable, TimeoutError):
                self._counters.add("registry.notes_lost", len(left.seen))

    def seen(self, device_id: str, seen: Seen) -> None:
        """Note a contact."""
        earlier = self._pending.seen.pop(device_id, None)
        if earlier is not None:
            seen = replace(
                seen,
                address=seen.address or earlier.address,
                features=earlier.features if seen.features is None else seen.features,
                tools=earlier.tools if seen.tools is None else seen.tools,
                may_be_new=earlier.may_be_new or seen.may_be_new,
            )
        self._keep(self._pending.seen, device_id, seen)

    def issued(self, token: IssuedToken) -> None:
        """Note a token that could not be written when it was issued."""
        self._keep(self._pending.issued, token.id, token)

    def used(self, token_id: str) -> None:
        """Note the first use of a token."""
        self._keep(self._pending.used, token_id, None)

    def _keep(self, kept: dict[str, T], key: str, value: T) -> None:
        kept[key] = value
        if len(kept) > MAX_KEPT:
            del kept[next(iter(kept))]
            self._counters.add("registry.notes_lost")
        self._wake.set()

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(GATHER_S)
            self._wake.clear()
            self._writing, self._pending = self._pending, _Pending()
            self._replaced(await self._written(self._writing))
            self._writing = _Pending()

    async def _written(self, pending: _Pending) -> Sequence[str]:
        """Write, again and again until it succeeds."""
        operation = Operation(partial(_write, pending))
        while True:
            try:
                return await self._link.call(operation)
            except Unavailable:
                await self._link.usable()


async def _write(pending: _Pending, database: Database) -> Sequence[str]:
    """Write all of it. Doing it twice changes nothing."""
    visits = Visits(database)
    if pending.seen:
        await visits.seen(pending.seen)
    if pending.issued:
        await visits.tokens_issued(list(pending.issued.values()))
    return await visits.tokens_used(list(pending.used)) if pending.used else ()
