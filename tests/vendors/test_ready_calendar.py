"""Calendars in the iCal format: recurring events, time zones, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio

from tests.vendors.ready import ready
from vixio.core.errors import ToolError
from vixio.tools.ready.events import DAYS, read_events
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.ready.service import ReadyService, calendar

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = date(2026, 3, 23)
"""A week before the clocks change there."""

ZONE = """BEGIN:VTIMEZONE
TZID:Somewhere
BEGIN:STANDARD
DTSTART:19700101T000000
TZOFFSETFROM:+0800
TZOFFSETTO:+0800
END:STANDARD
END:VTIMEZONE
"""


@pytest_asyncio.fixture
async def service() -> AsyncIterator[ReadyService]:
    async with ReadyService() as made:
        yield made


def starts(body: bytes, zone: ZoneInfo = BERLIN) -> list[str]:
    """Return the events from Monday on as ``day time title``."""
    found = read_events(body, MONDAY + timedelta(1), zone)
    return [f"{each.start:%m-%d %H:%M} {each.title}" for each in found]


def test_a_rule_with_exceptions_across_a_change_of_the_clocks() -> None:
    body = calendar(
        "DTSTART;TZID=Europe/Berlin:20260105T090000\nDTEND;TZID=Europe/Berlin:20260105T093000\n"
        "RRULE:FREQ=WEEKLY;BYDAY=MO,FR\nEXDATE;TZID=Europe/Berlin:20260327T090000\nSUMMARY:Standup",
        "DTSTART:20260324T090000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=2\nSUMMARY:Call",
    )
    assert starts(body) == [
        "03-23 09:00 Standup",
        "03-24 10:00 Call",
        "03-25 10:00 Call",
        "03-30 09:00 Standup",
        "04-03 09:00 Standup",
    ]


def test_an_occurrence_that_was_moved_and_one_that_is_cancelled() -> None:
    body = calendar(
        "UID:a\nDTSTART:20260320T080000Z\nDTEND:20260320T090000Z\nRRULE:FREQ=DAILY;COUNT=6\n"
        "SUMMARY:Swim",
        "UID:a\nRECURRENCE-ID:20260324T080000Z\nDTSTART:20260324T180000Z\nDTEND:20260324T190000Z\n"
        "SUMMARY:Swim late",
        "DTSTART:20260324T100000Z\nDTEND:20260324T110000Z\nSTATUS:CANCELLED\nSUMMARY:Dentist",
    )
    assert starts(body, ZoneInfo("UTC")) == [
        "03-23 08:00 Swim",
        "03-24 18:00 Swim late",
        "03-25 08:00 Swim",
    ]


def test_kinds_of_times() -> None:
    body = calendar(
        "DTSTART;VALUE=DATE:20260324\nDTEND;VALUE=DATE:20260326\nSUMMARY:Holiday",
        "DTSTART:20260324T120000\nDTEND:20260324T130000\nSUMMARY:Floating",
        "DTSTART;TZID=Somewhere:20260324T120000\nDTEND;TZID=Somewhere:20260324T130000\n"
        "SUMMARY:Far away",
        "DTSTART;TZID=China Standard Time:20260324T180000\nSUMMARY:Windows",
        "DTSTART;TZID=America/New_York:20260324T120000\nSUMMARY:Without an end",
        more=ZONE,
    )
    assert starts(body) == [
        "03-24 00:00 Holiday",
        "03-24 05:00 Far away",
        "03-24 11:00 Windows",
        "03-24 12:00 Floating",
        "03-24 17:00 Without an end",
    ]


def test_one_event_that_is_wrong_costs_itself_alone(caplog: pytest.LogCaptureFixture) -> None:
    body = calendar(
        "DTSTART:yesterday\nSUMMARY:Broken",
        "DTSTART;TZID=Nowhere/Land:20260324T120000\nSUMMARY:No such zone",
        "DTSTART:20260324T100000Z\nRRULE:FREQ=FORTNIGHTLY\nSUMMARY:No such rule",
        "DTSTART:20200101T000000Z\nRRULE:FREQ=SECONDLY\nSUMMARY:Tick",
        "DTSTART:20260324T100000Z\nSUMMARY:Good",
    )
    assert "03-24 11:00 Good" in starts(body)
    assert not any("Tick" in each for each in starts(body))
    assert "Broken" not in caplog.text


def test_many_events_are_bounded() -> None:
    many = [f"DTSTART:2026032{n % 10}T100000Z\nSUMMARY:{n}" for n in range(1_000)]
    assert len(read_events(calendar(*many), MONDAY, BERLIN)) == 200


@pytest.mark.parametrize("body", [b"", b"<html>", b"BEGIN:VCALENDA"])
def test_what_is_no_calendar(body: bytes) -> None:
    with pytest.raises(ToolError, match="no calendar"):
        read_events(body, MONDAY, BERLIN)


def test_an_old_daily_event_does_not_take_long() -> None:
    body = calendar("DTSTART:19700101T100000Z\nRRULE:FREQ=DAILY\nSUMMARY:Daily")
    assert len(read_events(body, MONDAY, BERLIN)) == DAYS


async def test_today_and_tomorrow_by_voice(service: ReadyService) -> None:
    zone = ZoneInfo("Pacific/Auckland")
    today = datetime.now(zone).date()
    day, next_day = f"{today:%Y%m%d}", f"{today + timedelta(1):%Y%m%d}"
    service.calendars["family"] = calendar(
        f"DTSTART;VALUE=DATE:{day}\nSUMMARY:Anna's birthday",
        f"DTSTART;TZID=Pacific/Auckland:{day}T235900\nLOCATION:Hall\nSUMMARY:Party",
        f"DTSTART;TZID=Pacific/Auckland:{next_day}T093000\nSUMMARY:Dentist",
    )
    service.calendars["work"] = calendar()
    urls = [f"{service.http}/calendars/{name}" for name in ("family", "work")]
    async with ready({"calendar": {"addresses": urls}}, zone="Pacific/Auckland") as tools:
        said = await tools.said("get_calendar")
        assert said == "2 events today: Anna's birthday; Party at 23:59."
        assert tools.shown == ["Anna's birthday\nParty at 23:59"]
        assert await tools.said("get_calendar", in_days=1) == (
            "On the calendar tomorrow: Dentist at 09:30."
        )
        told = json.loads((await tools.call("get_calendar", days=7)).result or "")
        assert told["events"][1] == {
            "title": "Party",
            "start": f"{today} 23:59",
            "end": f"{today} 23:59",
            "place": "Hall",
        }
        empty = await tools.said("get_calendar", in_days=5)
        assert empty == f"Nothing is on the calendar {today + timedelta(5)}."
        tools.language = "zh"
        assert await tools.said("get_calendar", in_days=1) == "明天有1个安排：09:30Dentist。"
        assert service.requests == {"calendar": 2}


async def test_a_calendar_that_cannot_be_read_is_said(service: ReadyService) -> None:
    service.calendars["family"] = calendar()
    url = f"{service.http}/calendars/family"
    async with ready({"calendar": {"addresses": [url], "timeout": 0.3}}) as tools:
        service.fail("forbidden", Trouble.STALL, Trouble.GARBAGE, Trouble.CUT)
        for words in ("refuses the access", "in time", "no usable answer", "cannot be reached"):
            assert words in await tools.said("get_calendar")
        assert await tools.said("get_calendar") == "Nothing is on the calendar today."
        assert url not in repr(tools.source.tools())
