"""What the assistant says by itself when it delivers something, and how it names times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from vixio.core.messages import message
from vixio.data.reminders.records import Delivery, Kind
from vixio.data.reminders.schedule import local

LATE_MS: Final = 60_000
"""From then on the age is said."""

_TWO_MARKS = re.compile(r"([.!?…。！？])[.。]$")
"""A text that ends as a sentence, in a sentence of ours."""

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 24 * 3_600_000

_DAYS_FROM: Final = 48 * _HOUR
"""From then on an age is in days."""


def parts(deliveries: Sequence[Delivery], now: int, language: str, zone: str) -> list[str]:
    """Return the words for each. ``zone``: for times of day; empty: that of the machine."""
    return [_with_age(each, now, language, zone) for each in deliveries]


def duration(ms: int, language: str) -> str:
    """Return a length of time in words, to two units: "1 hour and 30 minutes"."""
    seconds = max(1, round(ms / _SECOND))
    if seconds >= 600:  # nobody wants to hear the seconds then
        seconds = round(seconds / 60) * 60
    units = (
        ("duration_hours", seconds // 3600),
        ("duration_minutes", seconds // 60 % 60),
        ("duration_seconds", seconds % 60),
    )
    said = [message(key, language, n=number) for key, number in units if number]
    if len(said) == 1:
        return said[0]
    return message("duration_two", language, first=said[0], second=said[1])


def clock_time(ms: int, language: str, zone: str) -> str:
    """Return a time of day as it is written: 19:30, in English 7:30 PM."""
    return spoken_time(local(ms, zone), language)


def spoken_time(at: datetime, language: str) -> str:
    """Return the time of day of ``at``."""
    if language.partition("-")[0].lower() != "en":
        return f"{at.hour}:{at.minute:02d}"
    minutes = f":{at.minute:02d}" if at.minute else ""
    return f"{at.hour % 12 or 12}{minutes} {'AM' if at.hour < 12 else 'PM'}"


def _with_age(delivery: Delivery, now: int, language: str, zone: str) -> str:
    words = _TWO_MARKS.sub(r"\1", _words(delivery, language, zone))
    age = now - delivery.due_at
    if age < LATE_MS:
        return words
    if age >= _DAYS_FROM:
        return message("ago_days", language, n=age // _DAY, text=words)
    step = _HOUR if age >= _HOUR else _MINUTE
    whole = age - age % step
    return message("ago", language, duration=duration(whole, language), text=words)


def _words(delivery: Delivery, language: str, zone: str) -> str:
    text, sender = delivery.text, delivery.sender
    match delivery.kind:
        case Kind.TIMER if text:
            return message("timer_named_over", language, name=text)
        case Kind.TIMER:
            length = duration(delivery.length_ms, language)
            return message("timer_over", language, duration=length)
        case Kind.ALARM:
            time = clock_time(delivery.due_at, language, zone)
            key = "alarm_named" if text else "alarm"
            return message(key, language, time=time, name=text)
        case Kind.REMINDER:
            return message("reminder" if text else "reminder_bare", language, text=text)
        case Kind.MESSAGE if sender:
            return message("message_from", language, sender=sender, text=text)
        case Kind.MESSAGE:
            return message("message_to", language, text=text)
        case Kind.ANNOUNCEMENT:
            return message("announcement", language, text=text)
