"""Log lines: fields shown, nothing private, logging never blocks."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from loguru import logger as loguru

from tests.unit.transports.xiaozhi.support import running
from vixio.core.chunk import TextInput
from vixio.core.log_fields import logged_as, shared_context
from vixio.telemetry.logging import setup as logs
from vixio.telemetry.logging.setup import LEVELS
from vixio.telemetry.logging.writer import MAX_WAITING, LogWriter

_log = logging.getLogger("vixio.test")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Receives the log; loguru is restored afterwards."""
    yield io.StringIO()
    logs.flush_logs()
    loguru.remove()
    loguru.configure(extra={})
    loguru.add(sys.__stderr__ or io.StringIO())


def lines(stream: io.StringIO) -> list[str]:
    logs.flush_logs()
    return stream.getvalue().splitlines()


def objects(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(stream)]


def test_message_and_fields_on_one_line(stream: io.StringIO) -> None:
    logs.configure_logging(stream=stream)
    _log.info(
        "turn over", extra={"device": "aa:bb", "ms": 12, "why": "not now", "text": 'a "b"\nc'}
    )
    (line,) = lines(stream)
    assert line.endswith(r'turn over device=aa:bb ms=12 why="not now" text="a \"b\"\nc"')
    assert " INFO     " in line
    assert " vixio.test  turn over " in line


def test_nothing_in_a_message_is_markup_or_template(stream: io.StringIO) -> None:
    logs.configure_logging(stream=stream)
    _log.warning("<level>{name}</level> {0} {", extra={"x": "<red>{time}</red>"})
    logging.getLogger("vixio.x").warning("%s", "<b>{message}")
    first, second = lines(stream)
    assert first.endswith("<level>{name}</level> {0} { x=<red>{time}</red>")
    assert second.endswith("<b>{message}")


def test_a_line_break_cannot_forge_a_line(stream: io.StringIO) -> None:
    logs.configure_logging(stream=stream)
    logging.getLogger("vixio.x").info("name %s", "a\n2026-01-01 ERROR forged\x1b[31m\u2028b")
    (line,) = lines(stream)
    assert line.endswith(r"name a\n2026-01-01 ERROR forged\x1b[31m\u2028b")


def test_the_level_holds_for_all_loggers(stream: io.StringIO) -> None:
    logs.configure_logging("WARNING", stream=stream)
    _log.info("no")
    logging.getLogger("vixio.core").info("no")
    _log.warning("one")
    logging.getLogger("vixio.core").warning("two")
    assert [line.rpartition("  ")[2] for line in lines(stream)] == ["one", "two"]


def test_records_of_logging_keep_name_level_and_traceback(stream: io.StringIO) -> None:
    logs.configure_logging("debug", json=True, stream=stream)
    log = logging.getLogger("vixio.core.session")
    log.debug("turn %d %s", 3, "answered")
    try:
        raise ValueError("inside")
    except ValueError:
        log.exception("session task failed")
    first, second = objects(stream)
    assert (first["level"], first["logger"], first["message"]) == (
        "DEBUG",
        "vixio.core.session",
        "turn 3 answered",
    )
    assert second["level"] == "ERROR"
    assert second["exception"].startswith("Traceback")
    assert "ValueError: inside" in second["exception"]


def test_a_traceback_shows_no_values(stream: io.StringIO) -> None:
    for as_json in (False, True):
        logs.configure_logging(json=as_json, stream=stream)
        try:
            words = "my secret words"
            int(len(words) * "x")
        except ValueError:
            _log.exception("failed")
        text = "\n".join(lines(stream))
        assert "ValueError" in text
        assert "my secret words" not in text


def test_json_is_one_object_a_line(stream: io.StringIO) -> None:
    logs.configure_logging(json=True, stream=stream)
    _log.info("<hello> {you}", extra={"device": "a", "odd": object, "text": "词\n"})
    (line,) = lines(stream)
    found = json.loads(line)
    assert found["message"] == "<hello> {you}"
    assert (found["device"], found["text"], found["level"]) == ("a", "词\n", "INFO")
    assert found["time"][10] == "T"
    assert "词" in line


def test_a_field_never_replaces_a_standard_key(stream: io.StringIO) -> None:
    logs.configure_logging(json=True, stream=stream)
    taken = {"level": "loud", "time": 5, "time_": 6, "logger": "x", "exception": "none", "_line": 7}
    _log.warning("said", extra=taken)
    (found,) = objects(stream)
    assert (found["level"], found["logger"], found["message"]) == ("WARNING", _log.name, "said")
    assert (found["level_"], found["time_"], found["time__"]) == ("loud", 5, 6)
    assert (found["logger_"], found["exception"], found["_line"]) == ("x", "none", 7)
    logs.configure_logging(stream=stream)
    _log.warning("said", extra=taken)
    assert lines(stream)[1].endswith(
        "said level=loud time=5 time_=6 logger=x exception=none _line=7"
    )


def test_fields_reach_records_with_a_traceback_and_of_every_level(stream: io.StringIO) -> None:
    logs.configure_logging("TRACE", json=True, stream=stream)
    for level in LEVELS.values():
        _log.log(level, "at", extra={"turn": level})
    try:
        raise ValueError("inside")
    except ValueError:
        _log.exception("failed", extra={"turn": 1})
    *all_levels, last = objects(stream)
    assert {one["level"]: one["turn"] for one in all_levels} == LEVELS
    assert (last["turn"], "ValueError: inside" in last["exception"]) == (1, True)


def test_lists_are_lists_in_json_and_joined_in_text(stream: io.StringIO) -> None:
    fields = {"tools": ["get_time", "set_volume"], "tools_ms": [12, 3], "none": []}
    logs.configure_logging(json=True, stream=stream)
    _log.info("turn ended", extra=fields)
    (found,) = objects(stream)
    assert {name: found[name] for name in fields} == fields
    logs.configure_logging(stream=stream)
    _log.info("turn ended", extra=fields)
    assert lines(stream)[1].endswith('turn ended tools=get_time,set_volume tools_ms=12,3 none=""')


async def test_the_fields_of_a_task_stand_in_its_records(stream: io.StringIO) -> None:
    logs.configure_logging(json=True, stream=stream)
    with logged_as(device="aa", session="s"):
        own = asyncio.create_task(asyncio.to_thread(_log.info, "in a thread of a task"))
        shared = asyncio.create_task(
            asyncio.to_thread(_log.info, "shared"), context=shared_context()
        )
        with logged_as(turn=3):
            _log.info("in a turn")
        _log.info("another device", extra={"device": "bb"})
    _log.info("outside")
    await asyncio.gather(own, shared)
    found = {
        one["message"]: {name: one.get(name) for name in ("device", "session", "turn")}
        for one in objects(stream)
    }
    nothing = {"device": None, "session": None, "turn": None}
    assert found == {
        "in a thread of a task": {"device": "aa", "session": "s", "turn": None},
        "shared": nothing,
        "in a turn": {"device": "aa", "session": "s", "turn": 3},
        "another device": {"device": "bb", "session": "s", "turn": None},
        "outside": nothing,
    }


def test_fields_of_the_process_stand_in_every_record(stream: io.StringIO) -> None:
    logs.configure_logging(json=True, stream=stream, fields={"worker": 3})
    _log.info("one", extra={"turn": 1})
    assert [(one["worker"], one["turn"]) for one in objects(stream)] == [(3, 1)]
    logs.configure_logging(json=True, stream=stream)
    _log.info("two")
    assert "worker" not in objects(stream)[1]


@pytest.mark.parametrize("level", ["TRACE", "DEBUG", "INFO"])
def test_other_libraries_only_warn(stream: io.StringIO, level: str) -> None:
    logs.configure_logging(level, json=True, stream=stream)
    logging.getLogger("openai._base_client").debug("Request options: the user's words")
    logging.getLogger("httpx").info("HTTP Request: POST https://host/?key=k")
    logging.getLogger("asyncio").warning("slow")
    assert [found["logger"] for found in objects(stream)] == ["asyncio"]


@pytest.mark.parametrize("level", ["TRACE", "DEBUG", "INFO"])
async def test_the_wire_is_never_shown(stream: io.StringIO, level: str) -> None:
    logs.configure_logging(level, stream=stream)
    _log.warning("still here")

    async with running() as server, server.client(Authorization="Bearer hunter2") as client:
        session = await server.session()
        await client.send('{"type":"listen","state":"detect","text":"hunter2"}')
        assert await session.next() == TextInput("hunter2")
    text = "\n".join(lines(stream))
    assert "still here" in text
    assert "hunter2" not in text


def test_servers_are_lowered(stream: io.StringIO) -> None:
    def log() -> None:
        logging.getLogger("websockets.server").debug("< TEXT 'words'")
        logging.getLogger("websockets.server").info("connection open")
        logging.getLogger("uvicorn.error").info("Started server process")
        logging.getLogger("websockets.server").error("parser failed")

    logs.configure_logging("INFO", json=True, stream=stream)
    log()
    assert [found["message"] for found in objects(stream)] == ["parser failed"]
    logs.configure_logging("DEBUG", json=True, stream=stream)
    log()
    found = objects(stream)[1:]
    assert [(one["level"], one["message"]) for one in found] == [
        ("DEBUG", "connection open"),
        ("DEBUG", "Started server process"),
        ("ERROR", "parser failed"),
    ]


def test_arguments_that_do_not_fit_raise_nothing(stream: io.StringIO) -> None:
    logs.configure_logging(stream=stream)
    logging.getLogger("vixio.x").warning("%d of %d", *[1])
    (line,) = lines(stream)
    assert line.endswith("%d of %d")


def test_the_last_configuration_holds(stream: io.StringIO) -> None:
    logs.configure_logging("DEBUG", stream=stream)
    logs.configure_logging("INFO", json=True, stream=stream)
    _log.debug("no")
    _log.info("once")
    assert [found["message"] for found in objects(stream)] == ["once"]


class StuckStream(io.StringIO):
    """A pipe without a reader, until ``let_go`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self.let_go = threading.Event()

    def write(self, text: str, /) -> int:
        self.reached.set()
        assert self.let_go.wait(30)
        return super().write(text)


def test_a_stuck_stream_blocks_nothing_and_drops_are_counted() -> None:
    stuck = StuckStream()
    writer = LogWriter()
    writer.open(stuck)
    writer.write("first\n")
    assert stuck.reached.wait(10)
    for number in range(MAX_WAITING + 5):
        writer.write(f"{number}\n")
    began = time.monotonic()
    writer.flush(timeout=0.05)
    assert time.monotonic() - began < 10
    assert stuck.getvalue() == ""
    stuck.let_go.set()
    writer.flush(10)
    written = stuck.getvalue().splitlines()
    assert written[:3] == ["first", "0", "1"]
    assert written[-2:] == [str(MAX_WAITING - 1), "(5 log lines dropped: the stream was too slow)"]


def test_a_closed_stream_raises_nothing() -> None:
    closed, good = io.StringIO(), io.StringIO()
    closed.close()
    writer = LogWriter()
    writer.open(closed)
    writer.write("lost\n")
    writer.flush(10)
    writer.open(good)
    writer.write("kept\n")
    writer.flush(10)
    assert good.getvalue() == "kept\n"
