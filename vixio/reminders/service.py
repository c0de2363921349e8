"""Speaking first as a running server offers it: to tools, commands and the API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from vixio.core.wall_clock import now_ms
from vixio.database.database import Database
from vixio.database.link import Link, Operation, Rejected, Unavailable
from vixio.reminders.desk import Limits, ReminderDesk, Told
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
        self.on_told: Callable[[Told], None] = lambda _told: None
        """Called with what users have had done by voice, in this process."""
        self._link = link
        self._limits = limits

    async def at_desk(self, work: Callable[[ReminderDesk], Awaitable[T]]) -> T:
        """Have something done, and what is due already said.

        Raises ReminderError, RemindersUnavailable.
        """

        async def there(database: Database) -> tuple[T, Sequence[Told]]:
            desk = ReminderDesk(database, self._limits, self.clock)
            return await work(desk), desk.told

        try:
            result, told = await self._link.call(Operation(there, (ReminderError,)))
        except Unavailable as error:
            raise RemindersUnavailable("it cannot be stored at the moment: try again") from error
        except Rejected as error:
            raise ReminderError("it cannot be stored: say it in other words") from error
        self.on_change()
        for each in told:
            self.on_told(each)
        return result
