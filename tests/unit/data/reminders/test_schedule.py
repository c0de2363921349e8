"""Local times over clock changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from time import tzset

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.data.reminders.schedule import EVERY_DAY, Rule, local, next_time, read_rule

BERLIN = "Europe/Berlin"
ZONES = [BERLIN, "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "UTC"]


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def when(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%m-%d %H:%M")


@pytest.mark.parametrize(
    ("at", "after", "expected"),
    [
        ("07:00", "2026-03-28T06:30", "03-29 05:00"),  # the clock goes forward that night
        ("02:30", "2026-03-28T12:00", "03-29 01:30"),  # left out: it rings at 03:30
        ("02:30", "2026-03-29T01:30", "03-30 00:30"),
        ("02:30", "2026-10-24T12:00", "10-25 00:30"),  # comes twice: the first counts
        ("02:30", "2026-10-25T00:30", "10-26 01:30"),
        ("07:00", "2026-10-24T12:00", "10-25 06:00"),
    ],
)
def test_daily_over_a_clock_change(at: str, after: str, expected: str) -> None:
    rule = Rule(time.fromisoformat(at), zone=BERLIN)
    assert when(rule.next(ms(after))) == expected


def test_weekdays_and_a_week() -> None:
    weekdays = Rule(time(7), frozenset(range(5)), BERLIN)
    assert when(weekdays.next(ms("2026-11-20T12:00"))) == "11-23 06:00", "Friday to Monday"
    sundays = Rule(time(9), frozenset({6}), BERLIN)
    assert when(sundays.next(ms("2026-11-22T08:00"))) == "11-29 08:00"


def test_a_moment_is_shown_in_its_zone() -> None:
    moment = ms("2026-07-01T22:30")
    assert local(moment, BERLIN).isoformat() == "2026-07-02T00:30:00+02:00"
    assert local(moment, "").timestamp() * 1000 == moment


def test_the_zone_of_the_machine_has_no_part_in_that_of_a_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule = Rule(time(23, 45), zone="Pacific/Pago_Pago")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Pacific/Kiritimati")  # 25 hours ahead
        tzset()
        due = rule.next(ms("2026-07-02T10:30"))
        assert local(due, "").isoformat() == "2026-07-03T00:45:00+14:00"
    tzset()
    assert when(due) == "07-02 10:45"


def test_once_at_a_time_or_on_a_day() -> None:
    now = ms("2026-11-22T12:00")
    assert when(next_time(time(12, 30), BERLIN, now)) == "11-23 11:30"
    assert when(next_time(time(13, 30), BERLIN, now)) == "11-22 12:30"
    assert when(next_time(time(13, 30), BERLIN, now, date(2026, 12, 24))) == "12-24 12:30"


rules = st.builds(
    Rule,
    st.times().map(lambda at: at.replace(second=0, microsecond=0, fold=0)),
    st.frozensets(st.integers(0, 6), min_size=1),
    st.sampled_from(ZONES),
)
moments = st.integers(ms("2010-01-01"), ms("2040-01-01"))


@given(rules, moments)
def test_a_rule_fires_at_most_once_a_day_on_its_days(rule: Rule, after: int) -> None:
    assert read_rule(str(rule), rule.zone) == rule
    days: list[date] = []
    for _ in range(10):
        due = rule.next(after)
        assert after < due <= after + timedelta(days=9) // timedelta(milliseconds=1)
        at = local(due, rule.zone)
        days.append(at.date())
        if at.time() != rule.at:  # left out by a clock change
            assert due - after <= timedelta(days=9) // timedelta(milliseconds=1)
        else:
            assert at.weekday() in rule.days
        after = due
    assert len(set(days)) == len(days)


@given(rules, moments)
def test_no_day_is_left_out(rule: Rule, after: int) -> None:
    daily = Rule(rule.at, EVERY_DAY, rule.zone)
    due = daily.next(after)
    following = daily.next(due)
    gap = (local(following, rule.zone).date() - local(due, rule.zone).date()).days
    assert gap == 1 or rule.zone == "Pacific/Apia"


def test_a_rule_needs_a_day() -> None:
    with pytest.raises(ValueError, match="days"):
        Rule(time(7), frozenset())
