"""Calendar: the events of iCal addresses (RFC 5545), read by the library ical."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import islice
from time import monotonic
from typing import Final
from zoneinfo import ZoneInfo

from vixio.core.errors import ToolError
from vixio.core.messages import message
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject
from vixio.core.wall_clock import date_time
from vixio.tools.ready.service import Kept, Service
from vixio.tools.ready.settings import CalendarSettings

DAYS: Final = 14
"""From yesterday on that are taken out of a calendar at once."""

MAX_DAYS: Final = 7
MAX_EVENTS: Final = 200
"""Of one calendar in these days."""

SAID: Final = 5
MAX_TITLE_CHARS: Final = 120
READ_S: Final = 5.0
"""After which an endless calendar is left as it is read."""

_EVENT: Final = re.compile(r"BEGIN:VEVENT\r?\n.*?END:VEVENT[^\n]*\n?", re.DOTALL)
# Such a rule has millions of dates before today, and is in no calendar of people.
_TOO_OFTEN: Final = re.compile(r"FREQ=(SECONDLY|MINUTELY|HOURLY)", re.IGNORECASE)

_ZONE: Final = re.compile(r"BEGIN:VTIMEZONE\r?\n.*?END:VTIMEZONE", re.DOTALL)
_MOVED: Final = re.compile(r"^(RECURRENCE-ID:\d{8}T\d{6})Z", re.MULTILINE)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """Local times. ``whole``: lasts for whole days, until before ``end``."""

    start: datetime
    end: datetime
    title: str
    place: str = ""
    whole: bool = False


class Calendar:
    """The tool ``get_calendar``. ``zone``: IANA; empty: this machine's."""

    def __init__(self, settings: CalendarSettings, zone: str) -> None:
        self._settings = settings
        self._zone = zone
        self.service = Service("calendar", settings.timeout)
        self._calendars: Kept[Sequence[Event]] = Kept(settings.keep)

    def load(self) -> None:
        """Import the library. Blocking. Raises ImportError."""
        import ical.calendar_stream
        import ical.exceptions  # noqa: F401 - so that the first call does not wait for them

    async def get_calendar(
        self, context: ToolContext, in_days: int = 0, days: int = 1
    ) -> JsonObject:
        """Get the events on the user's calendar.

        Args:
            in_days: The first day: 0 is today, 1 tomorrow, up to 12.
            days: How many days from there, up to 7.
        """
        language = context.language
        in_days = min(max(in_days, 0), DAYS - 2)
        try:
            calendars = await asyncio.gather(*map(self._events, self._settings.addresses_given()))
        except ToolError as error:
            raise self.service.unreachable(error, language) from None
        zone = await asyncio.to_thread(self._tzinfo)
        now = date_time(zone)
        first = datetime.combine(now.date() + timedelta(in_days), time(), zone)
        last = first + timedelta(min(max(days, 1), MAX_DAYS))
        begin = now if in_days == 0 else first
        found = sorted(
            event
            for events in calendars
            for event in events
            if event.start < last and event.end > (first if event.whole else begin)
        )
        day = _day(in_days, first.date(), language)
        if not found:
            spoken = message("calendar_none", language, day=day)
        else:
            items = [_item(event, language) for event in found[:SAID]]
            listed = message("facts_join", language).join(items)
            spoken = message("calendar_is", language, n=len(found), day=day, listed=listed)
        context.show("\n".join(_item(event, language) for event in found[:SAID]))
        return {"events": [_told(event) for event in found[:50]], "spoken": spoken}

    async def look(self) -> bool:
        """Read each calendar. Raises ToolError."""
        await asyncio.gather(*map(self._events, self._settings.addresses_given()))
        return True

    async def close(self) -> None:
        """Close everything."""
        await self._calendars.close()
        await self.service.close()

    def _tzinfo(self) -> tzinfo:
        if self._zone:
            return ZoneInfo(self._zone)
        return datetime.now(UTC).astimezone().tzinfo or UTC

    async def _events(self, address: str) -> Sequence[Event]:
        # The events of two weeks hold for the day on which they were taken out.
        zone = await asyncio.to_thread(self._tzinfo)
        today = date_time(zone).date()
        return await self._calendars.get((address, today), lambda: self._read(address, today, zone))

    async def _read(self, address: str, today: date, zone: tzinfo) -> Sequence[Event]:
        answer = await self.service.get(re.sub("^webcal:", "https:", address))
        return await asyncio.to_thread(read_events, answer.body, today, zone)


def read_events(body: bytes, today: date, zone: tzinfo) -> Sequence[Event]:
    """Return the events from yesterday on for ``DAYS`` days. Blocking, for ``READ_S`` at most.

    An event that cannot be read is left out, with a line in the log. Raises ToolError if nothing of
    it is a calendar.
    """
    from ical.exceptions import CalendarError

    text = body.decode("utf-8-sig", "replace")
    if "BEGIN:VCALENDAR" not in text:
        raise ToolError("failed", "there is no calendar at this address")
    begin = datetime.combine(today - timedelta(1), time(), zone)
    end = begin + timedelta(DAYS)
    until = monotonic() + READ_S
    frame = _ZONE.sub(_lasting, _EVENT.sub("", text))
    pieces = [each for each in _EVENT.findall(text) if not _TOO_OFTEN.search(each)]
    found: list[Event] = []
    left_out = 0
    for uid in _by_uid(pieces):
        if monotonic() > until or len(found) >= MAX_EVENTS:
            left_out += 1
            continue
        try:
            found += _occurrences(frame, "".join(uid), begin, end, zone)
        except (CalendarError, ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
            left_out += 1
    if left_out:
        _log.warning("events of a calendar left out", extra={"count": left_out})
    return tuple(sorted(found)[:MAX_EVENTS])


def _lasting(zone: re.Match[str]) -> str:
    """Return a time zone that never changes with a rule, without which the library ends it."""
    text = zone[0]
    if text.count("TZOFFSETTO") == 1 and "RRULE" not in text:
        text = re.sub(r"^(DTSTART.*?)\r?$", "\\1\r\nRRULE:FREQ=YEARLY", text, flags=re.MULTILINE)
    return text


def _by_uid(pieces: Sequence[str]) -> Iterator[list[str]]:
    """Yield the events, each with those that replace occurrences of it."""
    found: dict[str, list[str]] = {}
    for number, piece in enumerate(pieces):
        uid = re.search(r"^UID[^:\n]*:(.+?)\r?$", piece, re.MULTILINE)
        found.setdefault(uid[1] if uid else f" {number}", []).append(piece)
    yield from found.values()


def _occurrences(
    frame: str, events: str, begin: datetime, end: datetime, zone: tzinfo
) -> Iterator[Event]:
    from ical.calendar_stream import IcsCalendarStream
    from ical.compat.timezone_compat import enable_extended_timezones

    # The library knows a moved occurrence by its time without a zone.
    events = _MOVED.sub(r"\1", events)
    head, mark, rest = frame.partition("END:VCALENDAR")
    with enable_extended_timezones():  # those of Windows
        calendar = IcsCalendarStream.calendar_from_ics(f"{head}{events}{mark}{rest}")
    for event in islice(calendar.timeline_tz(zone).overlapping(begin, end), MAX_EVENTS):
        if str(getattr(event.status, "value", "")) == "CANCELLED":
            continue
        whole = not isinstance(event.start, datetime)
        yield Event(
            _local(event.start, zone),
            _local(event.end, zone),
            _short(event.summary),
            _short(event.location),
            whole,
        )


def _local(moment: date | datetime, zone: tzinfo) -> datetime:
    if not isinstance(moment, datetime):
        return datetime.combine(moment, time(), zone)
    if moment.tzinfo is None:  # a floating time: wherever the reader is
        return moment.replace(tzinfo=zone)
    return moment.astimezone(zone)


def _short(text: str | None) -> str:
    return " ".join((text or "").split())[:MAX_TITLE_CHARS]


def _day(in_days: int, day: date, language: str) -> str:
    if in_days < 2:
        return message(("today", "tomorrow")[in_days], language)
    return day.isoformat()


def _item(event: Event, language: str) -> str:
    if event.whole:
        return event.title
    return message("calendar_item", language, time=f"{event.start:%H:%M}", title=event.title)


def _told(event: Event) -> JsonObject:
    form = "%Y-%m-%d" if event.whole else "%Y-%m-%d %H:%M"
    told: JsonObject = {"title": event.title, "start": f"{event.start:{form}}"}
    if not event.whole:
        told["end"] = f"{event.end:{form}}"
    if event.place:
        told["place"] = event.place
    return told
