"""Speaking first as a running server offers it: to tools, commands and the API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from vixio.database.database import Database
from vixio.database.link import Link, Operation, Unavailable
from vixio.reminders.clock import now_ms
from vixio.reminders.desk import Limits, ReminderDesk
from vixio.reminders.records import ReminderError

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
        self._link = link
        self._limits = limits

    async def at_desk(self, work: Callable[[ReminderDesk], Awaitable[T]]) -> T:
        """Have something done, and what is due already said.

        Raises ReminderError, RemindersUnavailable.
        """

        async def there(database: Database) -> T | ReminderError:
            try:
                return await work(ReminderDesk(database, self._limits, self.clock))
            except ReminderError as refused:  # which is an answer: the database works
                return refused

        try:
            result = await self._link.call(Operation(there))
        except Unavailable as error:
            raise RemindersUnavailable("it cannot be stored at the moment: try again") from error
        if isinstance(result, ReminderError):
            raise result
        self.on_change()
        return result
