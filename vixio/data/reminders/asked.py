"""Reads what a model asks of the tools: lengths, times, days; and turns refusals into answers."""

from __future__ import annotations

from collections.abc import Awaitable, Collection
from datetime import date, time, timedelta
from typing import Final, Literal, TypeVar

from vixio.core.errors import ToolError
from vixio.core.language_tags import primary
from vixio.data.reminders.records import ReminderError
from vixio.data.reminders.schedule import EVERY_DAY, WEEKDAYS, Rule, local, next_time
from vixio.data.reminders.service import RemindersUnavailable
from vixio.data.reminders.words import clock_time

T = TypeVar("T")

MAX_SECONDS: Final = 7 * 24 * 3600
"""Of a timer."""

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun", "daily", "weekdays", "weekends"]

_AHEAD: Final = {"today": 0, "tomorrow": 1}
"""Days from now."""

_GROUPS: Final = {
    "daily": EVERY_DAY,
    "weekdays": frozenset(range(5)),
    "weekends": frozenset((5, 6)),
}


async def done(work: Awaitable[T]) -> T:
    """Raises ToolError for what the repository refuses."""
    try:
        return await work
    except RemindersUnavailable as error:
        raise ToolError("unavailable", str(error), retryable=True) from error
    except ReminderError as error:
        raise ToolError("failed", str(error)) from error


def length_ms(hours: int, minutes: int, seconds: int) -> int:
    """Return a length in milliseconds. Raises ToolError."""
    whole = hours * 3600 + minutes * 60 + seconds
    if min(hours, minutes, seconds) < 0 or not 0 < whole <= MAX_SECONDS:
        raise ToolError(
            "invalid_arguments", "give hours, minutes or seconds: more than none, at most a week"
        )
    return whole * 1000


def at_time(
    at: str, day: str, days: Collection[str], zone: str, now: int
) -> tuple[int, Rule | None]:
    """Return when it is due first, and the rule. Raises ToolError."""
    if day in _AHEAD:
        day = (local(now, zone).date() + timedelta(days=_AHEAD[day])).isoformat()
    try:
        clock = time.fromisoformat(at.strip())
        on = date.fromisoformat(day.strip()) if day.strip() else None
    except ValueError as error:
        raise ToolError("invalid_arguments", "at is HH:MM, day is YYYY-MM-DD") from error
    clock = clock.replace(second=0, microsecond=0, tzinfo=None)
    if days:
        known = _GROUPS | {name: frozenset({number}) for number, name in enumerate(WEEKDAYS)}
        if unknown := [each for each in days if each not in known]:
            raise ToolError("invalid_arguments", f"{unknown[0]!r} is no day: {', '.join(known)}")
        chosen = frozenset[int]().union(*(known[each] for each in days))
        rule = Rule(clock, chosen, zone)
        return rule.next(now), rule
    due = next_time(clock, zone, now, on)
    if due <= now:
        raise ToolError("invalid_arguments", "that time is over: ask for a later one")
    return due, None


def when(ms: int, now: int, language: str, zone: str) -> str:
    """Return a time for a voice: with its date where it is not within a day."""
    said = clock_time(ms, language, zone)
    if ms - now < 24 * 3_600_000:
        return said
    day = local(ms, zone)
    if primary(language) == "zh":
        return f"{day.month}月{day.day}日{said}"
    return f"{day:%Y-%m-%d}, {said}"
