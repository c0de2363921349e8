"""The short form: ten devices change all their tools every second while their users talk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.tool_churn.run import render, run

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
