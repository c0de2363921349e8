"""Speaking first as a running server offers it: to tools, commands and the API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from vixio.core.wall_clock import now_ms
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Operation, Rejected, Unavailable
from vixio.data.reminders.records import ReminderError
from vixio.data.reminders.repository import Limits, ReminderChange, ReminderRepository

T = TypeVar("T")


class RemindersUnavailable(ReminderError):
    """The database cannot be used at the moment. A retry can help."""


class ReminderService:
    """``clock``: milliseconds since 1970. ``zone``: IANA name of the zone that users mean; empty:
    that of the machine."""

    def __init__(
        self,
        link: Link[Database],
        limits: Limits,
        zone: str = "",
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self.zone = zone
        self.clock = clock
        self.on_change: Callable[[], None] = lambda: None
        """Called after every change, in this process."""
        self.on_spoken_change: Callable[[ReminderChange], None] = lambda _change: None
        """Called with each change that a user made by voice, in this process."""
        self._link = link
        self._limits = limits

    async def with_repository(self, work: Callable[[ReminderRepository], Awaitable[T]]) -> T:
        """Run ``work`` on the reminders, then start what is due.

        Raises ReminderError, RemindersUnavailable.
        """

        async def there(database: Database) -> tuple[T, Sequence[ReminderChange]]:
            repository = ReminderRepository(database, self._limits, self.clock)
            return await work(repository), repository.changes

        try:
            result, changes = await self._link.call(Operation(there, (ReminderError,)))
        except Unavailable as error:
            raise RemindersUnavailable("it cannot be stored at the moment: try again") from error
        except Rejected as error:
            raise ReminderError("it cannot be stored: say it in other words") from error
        self.on_change()
        for each in changes:
            self.on_spoken_change(each)
        return result
