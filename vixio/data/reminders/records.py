"""What is to be said to a device, and what became of it.

Times are milliseconds since 1970, UTC; None: it has not happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from vixio.core.errors import VixioError
from vixio.core.session.speech import Priority
from vixio.data.database.database import Row
from vixio.data.reminders.schedule import Rule, read_rule

MAX_TEXT: Final = 500
"""Characters of a text: about half a minute of speech."""


class Kind(StrEnum):
    """What it is."""

    REMINDER = "reminder"
    TIMER = "timer"
    ALARM = "alarm"
    MESSAGE = "message"
    """From another room, or from a person."""
    ANNOUNCEMENT = "announcement"
    """To many devices; those of one have the same ``series``."""


ASKED: Final = (Kind.REMINDER, Kind.TIMER, Kind.ALARM)
"""What users set for a time: said in quiet hours too, as is what has :attr:`Priority.HIGH`."""


class State(StrEnum):
    """What became of it. The last five are final."""

    PENDING = "pending"
    """It waits for its time, or for its device."""
    CLAIMED = "claimed"
    """A process is about to say it. Another one may take it over when the lease has run out."""
    SPEAKING = "speaking"
    """It is being said. No other process takes it over."""
    DELIVERED = "delivered"
    """It was heard, ``heard`` says how much of it."""
    EXPIRED = "expired"
    """Its device was not there in time."""
    CANCELLED = "cancelled"
    FAILED = "failed"
    """It could not be said; ``reason`` says why."""
    UNKNOWN = "unknown"
    """The process that was saying it has ended: it may have been heard, and is not said again."""


WAITING: Final = (State.PENDING, State.CLAIMED)
"""May still be cancelled, or expire."""


class ReminderError(VixioError):
    """A change that cannot be made. The message says why and what to do, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What somebody wants to have said.

    ``text``: words, or the name of a timer; may be empty except for messages and announcements.
    ``rule``: when it repeats; None: once. ``expires_ms``: how long after its time it is still worth
    saying; None: as the settings say. ``sender``: what the listener is told of who it is from.
    """

    kind: Kind
    device_id: str
    due_at: int
    text: str = ""
    length_ms: int = 0
    """Of a timer, as it was asked for."""
    rule: Rule | None = None
    priority: Priority = Priority.NORMAL
    expires_ms: int | None = None
    created_by: str = ""
    """``device:ID`` for what was said to one, ``command:USER`` and so on."""
    sender: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A row of the table ``deliveries``."""

    id: str
    series: str
    """The id of the first of a repeated one; the same for the devices of one announcement."""
    kind: Kind
    device_id: str
    text: str
    length_ms: int
    due_at: int
    not_before: int
    """When it is to be tried; later than ``due_at`` after a failure."""
    rule: str
    """As :class:`~vixio.data.reminders.schedule.Rule` writes it; empty: it does not repeat."""
    zone: str
    """IANA name for the rule; empty: that of the machine."""
    priority: Priority
    expires_at: int
    created_at: int
    created_by: str
    sender: str
    state: State = State.PENDING
    owner: str = ""
    """The process, and its attempt, that says it."""
    lease_until: int = 0
    attempts: int = 0
    ended_at: int | None = None
    heard: str = ""
    reason: str = ""
    shown_at: int | None = None
    """When an idle device that cannot be made to speak has shown it. It is said at the next
    contact."""

    @classmethod
    def of(cls, row: Row) -> Delivery:
        """Read a row."""
        values: dict[str, Any] = dict(row)
        values["kind"] = Kind(values["kind"])
        values["state"] = State(values["state"])
        values["priority"] = Priority(values["priority"])
        return cls(**values)

    def row(self) -> dict[str, Any]:
        """Return the values of its columns."""
        values = asdict(self)
        values |= {"kind": self.kind.value, "state": self.state.value}
        values["priority"] = int(self.priority)
        return values

    @property
    def repeat(self) -> Rule | None:
        """The rule by which it repeats."""
        return read_rule(self.rule, self.zone) if self.rule else None


def of_rows(rows: Sequence[Row]) -> list[Delivery]:
    """Read rows."""
    return [Delivery.of(row) for row in rows]
