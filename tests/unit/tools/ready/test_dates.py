"""Dates, feasts and the lunar calendar, from a day that is given."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.tools.ready.dates import FEASTS, Dates, found_date

TODAY = date(2026, 11, 29)
ASKED = {
    "": "2026-11-29",
    "tomorrow": "2026-11-30",
    "2020-02-29": "2020-02-29",
    "12-25": "2026-12-25",
    "11-28": "2027-11-28",
    "02-29": "2028-02-29",
    "Christmas Day": "2026-12-25",
    "easter": "2027-03-28",
    "thanksgiving": "2027-11-25",
    "Mother’s Day": "2027-05-09",
    "chinese new year": "2027-02-06",
    "chinese new year's eve": "2027-02-05",
    "mid-autumn festival": "2027-09-15",
    "dragon boat festival": "2027-06-09",
    "qingming": "2027-04-05",
}


@pytest.mark.parametrize(("text", "found"), ASKED.items())
def test_the_next_such_day(text: str, found: str) -> None:
    assert found_date(text, TODAY).isoformat() == found


@pytest.mark.parametrize("text", ["2026-02-30", "some day", "13-01", "02-30"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(ToolError, match="such as 2026-12-25") as caught:
        found_date(text, TODAY)
    assert caught.value.type == "invalid_arguments"


def test_easter_by_its_tables() -> None:
    """https://www.census.gov/data/software/x13as/genhol/easter-dates.html."""
    known = {1961: "04-02", 2000: "04-23", 2024: "03-31", 2025: "04-20", 2026: "04-05"}
    for year, day in known.items():
        assert f"{FEASTS['easter'](year):%m-%d}" == day


@pytest.mark.parametrize("name", FEASTS)
def test_every_feast_has_a_date_in_each_year(name: str) -> None:
    days = [FEASTS[name](year) for year in range(2024, 2045)]
    apart = [later - earlier for earlier, later in pairwise(days)]
    assert all(timedelta(350) <= each <= timedelta(390) for each in apart)


async def test_days_until_and_since() -> None:
    dates = Dates("Asia/Shanghai")
    today = dates.today()
    assert abs(today - datetime.now(UTC).date()) <= timedelta(1)
    for away, said in ((3, "3 days."), (1, "One day."), (0, "That is today."), (-2, "2 days ago")):
        day = (today + timedelta(away)).isoformat()
        told = await dates.days_until(day, ToolContext(language="en"))
        assert told["days"] == away
        assert said in told["spoken"]
    assert (
        "还有3天"
        in (await dates.days_until((today + timedelta(3)).isoformat(), ToolContext(language="zh")))[
            "spoken"
        ]
    )


async def test_a_date_with_its_lunar_one() -> None:
    told = await Dates("").about_date(ToolContext(language="zh"), "2027-02-06")
    assert told["weekday"] == "Saturday"
    assert told["lunar"] == "丁未年（羊年）正月初一"
    assert told["feasts"] == ["chinese new year"]
    leap = await Dates("").about_date(ToolContext(), "2025-07-25")
    assert "闰六月初一" in leap["lunar"]
    assert (leap["lunar_month"], leap["lunar_day"]) == (6, 1)
    assert "lunar" not in await Dates("").about_date(ToolContext(), "1800-01-01")
