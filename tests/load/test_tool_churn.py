"""The short form: tools of devices and services change every second while users talk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.tool_churn.run import Services, render, run
from tests.support.brokers import nats_program

DEVICES = 10
SECONDS = 5.0


@pytest.mark.load
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_no_call_goes_astray_while_tools_change(tmp_path: Path) -> None:
    report = await run(tmp_path, devices=DEVICES, seconds=SECONDS, calls=1)
    notes, text = report.notes, render(report)
    assert notes.mistakes == [], text
    assert report.errors == [], text
    # Enough happened for that to mean something.
    assert notes.counts["turns"] >= DEVICES, text
    assert notes.counts["calls answered"] >= DEVICES, text
    assert notes.counts["changes"] >= 3 * DEVICES, text
    assert notes.seen_ms, text
    assert report.counters["tool.device.calls"] >= notes.counts["calls answered"], text


@pytest.mark.load
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_lists_are_exact_after_services_came_and_went(tmp_path: Path) -> None:
    nats_program()
    services = Services(4, ttl=5.0)
    report = await run(tmp_path, devices=3, seconds=SECONDS, calls=1, services=services)
    notes, text = report.notes, render(report)
    assert notes.mistakes == [], text
    assert report.errors == [], text
    assert notes.counts["calls answered by services"] >= 1, text
    assert notes.counts["service instances killed"] >= 1, text
    assert report.offers is not None
    assert report.offers.seen_ms, text
    assert report.counters["tool.broker.calls"] >= notes.counts["calls answered by services"], text
