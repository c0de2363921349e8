"""Quiet hours: how they are written, and when they end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ConfigError
from vixio.core.quiet_hours import check_quiet_hours, quiet_until
from vixio.settings import Settings

NIGHT, NAP = "22:00-07:00", "13:00-14:30"


def at(clock: str, day: int = 5) -> datetime:
    """Return a time of a day in May."""
    return datetime.fromisoformat(f"2026-05-{day:02d}T{clock}").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("hours", "clock", "until"),
    [
        (NIGHT, "21:59:59", None),
        (NIGHT, "22:00", at("07:00", 6)),
        (NIGHT, "23:59:59.9", at("07:00", 6)),
        (NIGHT, "00:00", at("07:00")),
        (NIGHT, "06:59:59", at("07:00")),
        (NIGHT, "07:00", None),
        (NAP, "12:59", None),
        (NAP, "13:00", at("14:30")),
        (NAP, "14:29:59", at("14:30")),
        (NAP, "14:30", None),
        ("23:00-00:00", "23:30", at("00:00", 6)),
        ("23:00-00:00", "00:00", None),
        ("00:00-23:59", "12:00", at("23:59")),
        ("", "03:00", None),
    ],
)
def test_when_they_end(hours: str, clock: str, until: datetime | None) -> None:
    assert quiet_until(hours, at(clock)) == until


@given(st.times(), st.times(), st.datetimes())
def test_they_end_within_a_day_and_none_follow_at_once(
    start: datetime, end: datetime, moment: datetime
) -> None:
    hours = f"{start:%H:%M}-{end:%H:%M}"
    if hours[:5] == hours[6:] or moment.year > 9_998:
        return
    until = quiet_until(hours, moment)
    if until is not None:
        assert timedelta(0) < until - moment <= timedelta(days=1)
        assert f"{until:%H:%M}" == hours[6:]
        assert quiet_until(hours, until) is None
        assert quiet_until(hours, until - timedelta(microseconds=1)) == until


def test_by_the_clock_on_the_wall_also_in_the_night_in_which_it_changes() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    until = quiet_until(NIGHT, datetime(2026, 3, 28, 23, 0, tzinfo=berlin))
    assert until is not None
    assert until.isoformat() == "2026-03-29T07:00:00+02:00"
    assert until.timestamp() - datetime(2026, 3, 28, 22, 0, tzinfo=UTC).timestamp() == 7 * 3600


@pytest.mark.parametrize(
    "wrong", ["22-7", "22:00", "24:00-07:00", "22:00 - 07:00", "7:00-8:00", "22:00-22:00", "night"]
)
def test_what_is_none_is_one_clear_line(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ValueError, match="expected two different times such as 22:00-07:00"):
        check_quiet_hours(wrong)
    path = tmp_path / "vixio.yaml"
    path.write_text(f"assistant: {{quiet_hours: '{wrong}'}}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        Settings.load(path)
    assert "assistant.quiet_hours: expected two different times" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_for_all_and_for_one_device() -> None:
    check_quiet_hours("")
    check_quiet_hours(NIGHT)
    devices = {"02:00:00:00:00:01": {"quiet_hours": ""}}
    found = Settings.model_validate({"assistant": {"quiet_hours": NIGHT}, "devices": devices})
    assert found.assistant.of_profile()["quiet_hours"] == NIGHT
    assert found.devices["02:00:00:00:00:01"].of_profile() == {"quiet_hours": ""}
