"""Named checks that decide whether a process should get new devices."""

from __future__ import annotations

import logging

import pytest

from vixio.core.readiness import CheckResult, Readiness


def test_each_check_says_what_holds_at_the_moment() -> None:
    readiness = Readiness()
    trouble = {"database": "does not answer"}
    readiness.add("ports", lambda: "")
    readiness.add("database", lambda: trouble.get("database", ""))
    assert readiness.results() == [
        CheckResult("ports", ""),
        CheckResult("database", "does not answer"),
    ]
    assert [each.ok for each in readiness.results()] == [True, False]
    trouble.clear()
    assert all(each.ok for each in readiness.results())


def test_a_name_is_taken_once() -> None:
    readiness = Readiness()
    readiness.add("ports", lambda: "")
    with pytest.raises(ValueError, match="ports"):
        readiness.add("ports", lambda: "")


def test_a_check_that_raises_has_failed_and_hides_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    readiness = Readiness()

    def broken() -> str:
        raise RuntimeError("the password is hunter2")

    readiness.add("broken", broken)
    readiness.add("ports", lambda: "the ports are closed")
    first, second = readiness.results()
    assert not first.ok
    assert "hunter2" not in first.reason
    assert second.reason == "the ports are closed"
    assert [each.levelno for each in caplog.records] == [logging.ERROR]
