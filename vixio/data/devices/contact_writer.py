"""Writes contacts of devices and uses of tokens behind the requests that report them.

While the database cannot be reached it is kept, within bounds, and written when it is back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from vixio.core.metrics import Counters
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.database.write_behind import WriteBehind
from vixio.data.devices.contacts import Contact, DeviceContacts
from vixio.data.devices.tokens import IssuedToken

MAX_KEPT: Final = 10_000
"""Of devices, and of tokens. Then the oldest are dropped, and counted."""

T = TypeVar("T")


@dataclass(slots=True)
class _Pending:
    seen: dict[str, Contact] = field(default_factory=dict)
    issued: dict[str, IssuedToken] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.seen or self.issued or self.used)


class ContactWriter:
    """Writes contacts in the background.

    ``replaced``: receives the tokens that are void, since a newer one is in use, with their expiry.
    """

    def __init__(
        self,
        link: Link[Database],
        counters: Counters,
        replaced: Callable[[dict[str, int]], None],
    ) -> None:
        self._counters = counters
        self._behind = WriteBehind(
            link,
            _Pending,
            _write,
            singly=_singly,
            dropped=lambda _entry: counters.add("registry.rejected"),
            written=replaced,
        )

    async def stop(self) -> None:
        """Write what is left, for a bounded time. Idempotent."""
        if not await self._behind.close():
            lost = sum(len(each.seen) for each in self._behind.unwritten)
            self._counters.add("registry.notes_lost", lost)

    async def caught_up(self) -> None:
        """Write what was noted before, for a bounded time."""
        await self._behind.caught_up()

    def seen(self, device_id: str, seen: Contact) -> None:
        """Note a contact."""
        earlier = self._behind.batch.seen.pop(device_id, None)
        if earlier is not None:
            seen = replace(
                seen,
                address=seen.address or earlier.address,
                features=earlier.features if seen.features is None else seen.features,
                tools=earlier.tools if seen.tools is None else seen.tools,
                may_be_new=earlier.may_be_new or seen.may_be_new,
            )
        self._keep(self._behind.batch.seen, device_id, seen)

    def issued(self, token: IssuedToken) -> None:
        """Note a token that could not be written when it was issued."""
        self._keep(self._behind.batch.issued, token.id, token)

    def used(self, token_id: str) -> None:
        """Note the first use of a token."""
        self._keep(self._behind.batch.used, token_id, None)

    def _keep(self, kept: dict[str, T], key: str, value: T) -> None:
        kept[key] = value
        if len(kept) > MAX_KEPT:
            del kept[next(iter(kept))]
            self._counters.add("registry.notes_lost")
        self._behind.touch()


def _singly(pending: _Pending) -> Iterator[_Pending]:
    for device_id, seen in pending.seen.items():
        yield _Pending(seen={device_id: seen})
    for token_id, token in pending.issued.items():
        yield _Pending(issued={token_id: token})
    for token_id in pending.used:
        yield _Pending(used={token_id: None})


async def _write(pending: _Pending, database: Database) -> dict[str, int]:
    """Write all of it. Doing it twice changes nothing."""
    visits = DeviceContacts(database)
    if pending.seen:
        await visits.seen(pending.seen)
    if pending.issued:
        await visits.tokens_issued(list(pending.issued.values()))
    return await visits.tokens_used(list(pending.used)) if pending.used else {}
