"""The last lines in memory: bounded, JSON, and without what is marked as private."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator

import pytest

from vixio.core.log_fields import PRIVATE, logged_as
from vixio.telemetry.logging.fields import fields_of
from vixio.telemetry.logging.recent import MAX_TEXT, RecentLines

WORDS = "my grandmother's birthday"


@pytest.fixture
def kept() -> Iterator[RecentLines]:
    """Lines of a logger of ours, and of another library's."""
    recent = RecentLines(size=5)
    loggers = [logging.getLogger(name) for name in ("vixio.test", "other")]
    before = [each.level for each in loggers]
    for each in loggers:
        each.addHandler(recent)
        each.setLevel(logging.DEBUG)
    yield recent
    for each, level in zip(loggers, before, strict=True):
        each.removeHandler(recent)
        each.setLevel(level)


def test_the_last_lines_with_rising_ids(kept: RecentLines) -> None:
    log = logging.getLogger("vixio.test")
    for number in range(8):
        log.info("line", extra={"number": number})
    lines = kept.after()
    assert [each["fields"]["number"] for each in lines] == [3, 4, 5, 6, 7]
    ids = [each["id"] for each in lines]
    assert ids == sorted(set(ids))
    assert kept.after(ids[2]) == lines[3:]
    assert kept.after(limit=2) == lines[3:]
    assert kept.after(number=logging.WARNING) == []


def test_a_private_line_is_counted_and_not_kept(kept: RecentLines) -> None:
    log = logging.getLogger("vixio.test")
    log.info("user said", extra={"text": WORDS, PRIVATE: True})
    log.info("turn ended", extra={"ms": 5})
    assert [each["message"] for each in kept.after()] == ["turn ended"]
    assert kept.withheld == 1
    record = log.makeRecord("n", 20, "f", 1, "m", (), None, extra={"text": "x", PRIVATE: True})
    assert fields_of(record) == {"text": "x"}, "the mark is no field of the line"


def test_other_libraries_show_warnings_only_and_no_text_of_exceptions(kept: RecentLines) -> None:
    other = logging.getLogger("other")
    other.info("heard %s", WORDS)
    try:
        raise ValueError(WORDS)
    except ValueError:
        other.exception("failed")
    (line,) = kept.after()
    assert line["fields"] == {"exception": "ValueError"}
    assert WORDS not in str(line)


def test_anything_in_a_field_becomes_bounded_json(kept: RecentLines) -> None:
    odd = {"a": object(), "b": float("nan"), "c": "x" * 9_000, "d": "\ud800", "e": [1, (2, {3})]}
    with logged_as(device="aa"):
        logging.getLogger("vixio.test").warning("odd", extra=odd)
    (line,) = kept.after()
    assert len(line["fields"]["c"]) == MAX_TEXT
    assert line["fields"]["device"] == "aa"
    json.dumps(line, allow_nan=False).encode()
    str(line["fields"]["d"]).encode()


def test_threads_do_not_share_an_id() -> None:
    recent = RecentLines(size=1_000)
    record = logging.LogRecord("vixio", logging.INFO, "f", 1, "line", (), None)

    def write() -> None:
        for _ in range(200):
            recent.emit(record)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len({each["id"] for each in recent.after()}) == 800
