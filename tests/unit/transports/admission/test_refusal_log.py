from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from vixio.core.clock import now
from vixio.core.log_fields import log_fields, logged_as
from vixio.testing import VirtualTimeLoop
from vixio.transports.admission import refusal_log
from vixio.transports.admission.refusal_log import BURST, EVERY_S, MAX_CHARS, RefusalLog

FIELDS = ("reason", "address", "device", "left_out")


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [
        {name: vars(record)[name] for name in FIELDS if name in vars(record)}
        for record in caplog.records
        if record.name == refusal_log.__name__
    ]


def on_virtual_time(test: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test)


def test_a_refusal_has_its_reason_address_and_device(caplog: pytest.LogCaptureFixture) -> None:
    log = RefusalLog(lambda: 0.0)
    log.add("token_wrong", "192.0.2.1", "aa:bb")
    log.add("descriptors")
    log.add("bad_device_id", "192.0.2.1", "x" * 10_000)
    assert lines(caplog) == [
        {"reason": "token_wrong", "address": "192.0.2.1", "device": "aa:bb"},
        {"reason": "descriptors"},
        {"reason": "bad_device_id", "address": "192.0.2.1", "device": "x" * MAX_CHARS},
    ]


def test_a_flood_is_a_few_lines_that_count_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    """Ten thousand refusals in 100 s: every one is in a line or in a count."""
    total = 10_000

    async def flood() -> None:
        log = RefusalLog(now)
        for _ in range(total):
            log.add("connects", "192.0.2.1")
            await asyncio.sleep(0.01)
        await asyncio.sleep(3 * EVERY_S)

    on_virtual_time(flood())
    found = lines(caplog)
    assert found[:BURST] == [{"reason": "connects", "address": "192.0.2.1"}] * BURST
    assert BURST < len(found) <= BURST + 2 + 2 * 100 / EVERY_S
    with_address = sum("address" in line for line in found)
    assert with_address + sum(line.get("left_out", 0) for line in found) == total


def test_the_last_ones_left_out_are_reported_although_none_follows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def burst() -> None:
        log = RefusalLog(now)
        with logged_as(device="the first one left out"):
            for _ in range(BURST + 7):
                log.add("full", "192.0.2.1")
        assert len(lines(caplog)) == BURST
        await asyncio.sleep(EVERY_S + 1)

    of_tasks: list[dict[str, object]] = []

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            of_tasks.append(dict(log_fields()))

    handler = Noting()
    logging.getLogger(refusal_log.__name__).addHandler(handler)
    try:
        on_virtual_time(burst())
    finally:
        logging.getLogger(refusal_log.__name__).removeHandler(handler)
    assert lines(caplog)[BURST:] == [{"reason": "full", "left_out": 7}]
    assert of_tasks[-1] == {}, "the sum is no single device's"


def test_one_reason_does_not_hide_another(caplog: pytest.LogCaptureFixture) -> None:
    async def both() -> None:
        log = RefusalLog(now)
        for _ in range(1_000):
            log.add("connects", "192.0.2.1")
        log.add("token_expired", "192.0.2.9", "aa")
        log.flush()

    on_virtual_time(both())
    assert lines(caplog)[BURST:] == [
        {"reason": "token_expired", "address": "192.0.2.9", "device": "aa"},
        {"reason": "connects", "left_out": 1_000 - BURST},
    ]
