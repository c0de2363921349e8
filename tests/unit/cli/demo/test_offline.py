"""What ``vixio demo`` checks, each with something that has to fail."""

from __future__ import annotations

from datetime import datetime

import pytest

from vixio.cli.demo.conversation import Line, Served, waited, was_served
from vixio.cli.demo.offline import is_now


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("It is 2:05 PM.", True),
        ("It is 2:03 PM.", True),
        ("It is 2:05 AM.", False),
        ("It is 3:05 PM.", False),
        ("It is 2:01 PM.", False),
        ("You have 12 messages.", False),
        ("Sorry, I did not understand that.", False),
    ],
)
def test_a_time_of_day_must_be_the_right_one(text: str, good: bool) -> None:
    assert is_now(text, datetime(2026, 3, 4, 14, 5, 20)) == good  # noqa: DTZ001 - of the wall


def test_the_time_may_change_before_it_is_checked() -> None:
    assert is_now("It is 11:59 PM.", datetime(2026, 3, 5, 0, 0, 5))  # noqa: DTZ001 - of the wall


@pytest.mark.parametrize(
    ("source", "fails", "served", "good"),
    [
        ("", False, {}, True),
        ("rest", False, {"rest": Served(1, 0, 1.0)}, True),
        ("rest", False, {}, False),
        ("rest", False, {"rest": Served(1, 1, 1.0)}, False),
        ("rest", True, {"rest": Served(1, 1, 1.0)}, True),
        ("rest", True, {"rest": Served(1, 0, 1.0)}, False),
        ("rest", False, {"rest": Served(1, 0, 1.0), "local": Served(1, 1, 1.0)}, False),
        ("", False, {"local": Served(1, 1, 1.0)}, False),
    ],
)
def test_a_source_must_have_served_as_meant(
    source: str, fails: bool, served: dict[str, Served], good: bool
) -> None:
    line = Line("do it", lambda reply, device: True, "it is done", source, fails)
    assert was_served(line, served) == good


def test_how_long_the_answers_were_waited_for() -> None:
    assert waited([]) == []
    told = "half of the answers began within 1.4 s of the last word, all in 3.2 s"
    assert waited([3_200, 1_400, 900]) == [told]
    first, then = waited([2_100, 3_200, 4_000])
    assert "within 3.2 s" in first
    assert then == "slow: this machine needs faster parts, which `vixio setup` proposes"
