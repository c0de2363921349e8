"""The short form: all attacks, concurrent by kind; no healthy device loses a turn.

How late these become is judged in the long form alone, where one attack is made at a time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.chaos.run import run
from tests.chaos.table import render


# Each attacker has a loopback address of its own, and /proc says what grows.
@pytest.mark.skipif(sys.platform != "linux", reason="needs all of 127.0.0.0/8 and /proc")
@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.timeout(400)
async def test_nothing_but_what_is_attacked_is_lost(tmp_path: Path) -> None:
    report = await run(tmp_path / "server.log", long=False, devices=6)
    assert report.passed, f"\n{render(report)}"
    assert [row.name for row in report.rows if not row.outcome.done] == []
    assert [row.name for row in report.rows if not row.felt.turns] == []
