"""Local times: when something at a time of day is due, once or again and again.

Only a time of day on some days of the week is needed, so :mod:`zoneinfo` is enough. A time that a
clock change leaves out is taken as if the clock had not changed (02:30 rings at 03:30); of one that
comes twice the first counts. A rule fires at most once a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""In the order of :meth:`datetime.date.weekday`."""

EVERY_DAY: Final = frozenset(range(7))


def local_ms(day: date, at: time, zone: str) -> int:
    """Return a local time in milliseconds since 1970. ``zone`` empty: that of the machine."""
    moment = datetime.combine(day, at)
    if zone:
        moment = moment.replace(tzinfo=_zone(zone))
    return round(moment.timestamp() * 1000)


def local(ms: int, zone: str) -> datetime:
    """Return milliseconds since 1970 as a local time."""
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.astimezone(_zone(zone) if zone else None)


@dataclass(frozen=True, slots=True)
class Rule:
    """At a local time on these days of the week (0: Monday)."""

    at: time
    days: frozenset[int] = EVERY_DAY
    zone: str = ""

    def __post_init__(self) -> None:
        if not self.days or not self.days <= EVERY_DAY:
            raise ValueError("a rule needs days of the week, 0 to 6")

    def __str__(self) -> str:
        days = ",".join(WEEKDAYS[day] for day in sorted(self.days))
        return f"{self.at:%H:%M} {days}"

    def next(self, after: int) -> int:
        """Return the first time later than ``after``, both in milliseconds since 1970."""
        day = local(after, self.zone).date() - timedelta(days=1)
        while True:
            due = local_ms(day, self.at, self.zone)
            if day.weekday() in self.days and due > after:
                return due
            day += timedelta(days=1)


def read_rule(text: str, zone: str) -> Rule:
    """Read what ``str`` makes of a rule. Raises ValueError."""
    at, _, days = text.partition(" ")
    return Rule(time.fromisoformat(at), frozenset(map(WEEKDAYS.index, days.split(","))), zone)


def next_time(at: time, zone: str, after: int, day: date | None = None) -> int:
    """Return when it is ``at`` next, or on ``day``; in milliseconds since 1970.

    It may be in the past only if a day is given.
    """
    return Rule(at, EVERY_DAY, zone).next(after) if day is None else local_ms(day, at, zone)


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
