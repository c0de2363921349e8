"""The audit trail as a part of the stream: it can be gone back to at any time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from vixio.data.database.audit import AuditTable, Change
from vixio.data.database.database import Database

MAX_CHANGES: Final = 1_000
"""That a watcher who comes back is given; then the latest only."""


class Past(NamedTuple):
    """The audit trail after an entry, oldest first. ``last``: its newest id."""

    changes: Sequence[Change]
    last: int
    complete: bool


async def read_past(database: Database, after: int | None) -> Past:
    """Return the changes after an entry; None: none of them, only how far it goes."""
    async with database.transaction(write=False) as transaction:
        audit = AuditTable(transaction)
        last = await audit.last()
        if after is None:
            return Past((), last, complete=True)
        changes = await audit.since(max(after, last - MAX_CHANGES), MAX_CHANGES)
        # A trail that is shorter is that of another database: a backup was restored.
        return Past(changes, last, complete=last - MAX_CHANGES <= after <= last)
