"""Dates: weekdays, days until, feasts of several calendars, the Chinese lunar calendar."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, timedelta
from functools import partial
from typing import Final

from vixio.core.errors import ToolError
from vixio.core.language_tags import primary
from vixio.core.messages import message
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject
from vixio.core.wall_clock import date_time

_LAST_LUNAR: Final = 2099
"""Years for which the library's tables hold."""

_FIRST_LUNAR: Final = 1900


def _easter(year: int) -> date:
    """Return Easter Sunday: "A New York correspondent", Nature 13 (1876), p. 487."""
    century, rest = divmod(year, 100)
    a, b, c = year % 19, century // 4, century % 4
    d = (19 * a + century - b - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * c + 2 * (rest // 4) - d - rest % 4) % 7
    month, day = divmod(d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114, 31)
    return date(year, month, day + 1)


def _fixed(month: int, day: int, year: int) -> date:
    return date(year, month, day)


def _nth(month: int, weekday: int, nth: int, year: int) -> date:
    """Return the ``nth`` of a weekday (Monday is 0) of a month."""
    first = date(year, month, 1)
    return first + timedelta((weekday - first.weekday()) % 7 + 7 * (nth - 1))


def _from_easter(days: int, year: int) -> date:
    return _easter(year) + timedelta(days)


def _lunar(month: int, day: int, year: int) -> date:
    from lunar_python import Lunar

    solar = Lunar.fromYmd(year, month, day).getSolar()
    return date(solar.getYear(), solar.getMonth(), solar.getDay())


def _lunar_eve(year: int) -> date:
    return _lunar(1, 1, year) - timedelta(1)


def _qingming(year: int) -> date:
    from lunar_python import Lunar

    solar = Lunar.fromYmd(year, 1, 1).getJieQiTable()["清明"]
    return date(solar.getYear(), solar.getMonth(), solar.getDay())


FEASTS: Final[Mapping[str, Callable[[int], date]]] = {
    "new year": partial(_fixed, 1, 1),
    "epiphany": partial(_fixed, 1, 6),
    "valentine's day": partial(_fixed, 2, 14),
    "women's day": partial(_fixed, 3, 8),
    "carnival": partial(_from_easter, -48),
    "good friday": partial(_from_easter, -2),
    "easter": _easter,
    "ascension": partial(_from_easter, 39),
    "pentecost": partial(_from_easter, 49),
    "labour day": partial(_fixed, 5, 1),
    "mother's day": partial(_nth, 5, 6, 2),
    "children's day": partial(_fixed, 6, 1),
    "father's day": partial(_nth, 6, 6, 3),
    "chinese national day": partial(_fixed, 10, 1),
    "german unity day": partial(_fixed, 10, 3),
    "halloween": partial(_fixed, 10, 31),
    "thanksgiving": partial(_nth, 11, 3, 4),
    "st nicholas' day": partial(_fixed, 12, 6),
    "christmas eve": partial(_fixed, 12, 24),
    "christmas": partial(_fixed, 12, 25),
    "new year's eve": partial(_fixed, 12, 31),
    "chinese new year's eve": _lunar_eve,
    "chinese new year": partial(_lunar, 1, 1),
    "lantern festival": partial(_lunar, 1, 15),
    "qingming": _qingming,
    "dragon boat festival": partial(_lunar, 5, 5),
    "qixi": partial(_lunar, 7, 7),
    "mid-autumn festival": partial(_lunar, 8, 15),
    "double ninth": partial(_lunar, 9, 9),
}
"""Each by its year; a lunar one by the lunar year."""

_NAMES: Final = ", ".join(FEASTS)


class Dates:
    """The tools ``days_until`` and ``about_date``. ``zone``: IANA; empty: this machine's."""

    def __init__(self, zone: str) -> None:
        self._zone = zone

    def load(self) -> None:
        """Import the lunar calendar. Blocking. Raises ImportError."""
        import lunar_python  # noqa: F401 - so that the first call does not wait for it

    def today(self) -> date:
        """Return the date where the users are."""
        from zoneinfo import ZoneInfo

        now = date_time(ZoneInfo(self._zone) if self._zone else None)
        return now.date()

    async def days_until(self, day: str, context: ToolContext) -> JsonObject:
        """Count the days until a date or a feast, or since a date.

        Args:
            day: A date such as 2026-12-25 or 12-25, or the English name of a feast.
        """
        today = await asyncio.to_thread(self.today)
        wanted = await asyncio.to_thread(found_date, day, today)
        days = (wanted - today).days
        key = "day_is_today" if not days else "days_until" if days > 0 else "days_since"
        values = {"n": abs(days)} if days else {}
        context.show(f"{wanted.isoformat()}: {days:+}")
        return {
            "date": wanted.isoformat(),
            "days": days,
            "spoken": message(key, context.language, **values),
        }

    async def about_date(self, context: ToolContext, day: str = "") -> JsonObject:
        """Get the weekday, the week, the date in the Chinese lunar calendar and feasts of a date.

        Args:
            day: A date such as 2026-12-25 or 12-25, the English name of a feast, or empty: today.
        """
        today = await asyncio.to_thread(self.today)
        wanted = await asyncio.to_thread(found_date, day, today)
        told: JsonObject = {
            "date": wanted.isoformat(),
            "weekday": f"{wanted:%A}",
            "week": wanted.isocalendar().week,
            "day_of_year": wanted.timetuple().tm_yday,
            "feasts": await asyncio.to_thread(_feasts_on, wanted),
        }
        told |= await asyncio.to_thread(_lunar_date, wanted)
        lunar = f" {told.get('lunar', '')}" if primary(context.language) == "zh" else ""
        context.show(f"{wanted.isoformat()}{lunar}")
        return told


def found_date(text: str, today: date) -> date:
    """Return the date that ``text`` names: the next such one where it has no year.

    Blocking. Raises ToolError.
    """
    words = " ".join(text.casefold().replace("’", "'").split())
    if words in {"", "today"}:
        return today
    if words == "tomorrow":
        return today + timedelta(1)
    with suppress(ValueError):
        return date.fromisoformat(words)
    feast = FEASTS.get(words.removesuffix(" day")) or FEASTS.get(words)
    for year in range(today.year - 1, today.year + 9):  # 29 February may be eight years away
        try:
            found = date.fromisoformat(f"{year}-{words}") if feast is None else feast(year)
        except ValueError:
            continue
        except ImportError:
            raise ToolError(
                "failed", "the lunar calendar is not installed (the extra `ready`)"
            ) from None
        if found >= today:
            return found
    wanted = f"a date such as 2026-12-25, or one of: {_NAMES}"
    raise ToolError("invalid_arguments", f"expected {wanted}", retryable=True)


def _feasts_on(day: date) -> list[str]:
    found = []
    for name, feast in FEASTS.items():
        with suppress(ValueError, ImportError):
            if feast(day.year) == day:
                found.append(name)
    return found


def _lunar_date(day: date) -> JsonObject:
    """Return the lunar date; nothing outside of the tables, or without the library."""
    try:
        from lunar_python import Solar
    except ImportError:
        return {}
    if not _FIRST_LUNAR < day.year <= _LAST_LUNAR:
        return {}
    lunar = Solar.fromYmd(day.year, day.month, day.day).getLunar()
    year, animal = lunar.getYearInGanZhi(), lunar.getYearShengXiao()
    date_, term = f"{lunar.getMonthInChinese()}月{lunar.getDayInChinese()}", lunar.getJieQi()
    return {
        "lunar": f"{year}年（{animal}年）{date_}" + (f"，{term}" if term else ""),
        "lunar_month": abs(lunar.getMonth()),  # that of a leap month is negative
        "lunar_day": lunar.getDay(),
    }
