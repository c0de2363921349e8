"""Hours in which an idle device is left in peace, written as ``22:00-07:00``."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from typing import Final

_HOURS: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


def check_quiet_hours(hours: str) -> None:
    """Raise ValueError for what are no quiet hours; empty: there are none."""
    if hours and (not _HOURS.fullmatch(hours) or hours[:5] == hours[6:]):
        raise ValueError(
            f"expected two different times such as 22:00-07:00, or nothing, found {hours!r}"
        )


def quiet_until(hours: str, at: datetime) -> datetime | None:
    """Return when the quiet hours end in which ``at`` is; None: it is in none.

    Both are of one zone, or naive ones of the machine's: the hours go by the clock on the wall.
    """
    if not hours:
        return None
    start, end = time.fromisoformat(hours[:5]), time.fromisoformat(hours[6:])
    clock = at.time()
    if not (start <= clock < end if start < end else clock >= start or clock < end):
        return None
    day = at + timedelta(days=1) if clock >= end else at
    return day.replace(hour=end.hour, minute=end.minute, second=0, microsecond=0)
