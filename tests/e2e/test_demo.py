"""``vixio demo --tools``, as a person runs it: printed, checked, and able to fail."""

from __future__ import annotations

import os
import sys
import wave
from pathlib import Path

import pytest

from tests.e2e.processes import running
from vixio.demo import conversation, tools
from vixio.demo.conversation import Line, Served, serving

BOUND = 80.0

RUN = "from vixio.cli.commands import main; main()"


@pytest.mark.timeout(120)
async def test_tools_of_every_kind_are_used_for_real(tmp_path: Path) -> None:
    wav = tmp_path / "demo.wav"
    command = (sys.executable, "-c", RUN, "demo", "--tools", "--wav", str(wav))
    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    async with running(command, tmp_path, environment) as demo:
        last = await demo.line("turns as expected", seconds=BOUND)
        await demo.process.wait()
    printed = "".join(demo.out)
    assert last.strip() == "7 of 7 turns as expected", printed
    assert demo.process.returncode == 0
    for source in ("device", "local", "garden", "rest"):
        assert f"served  by {source}: 1 call, " in printed
    assert "served  by rest: 1 call" in printed
    assert "1 failed" in printed
    assert "Traceback" not in "".join(demo.out + demo.err)
    with wave.open(str(wav)) as file:
        assert file.getnchannels() == 2
        assert file.getnframes() / file.getframerate() > 15


def test_what_was_served_is_read_from_the_counters() -> None:
    before = {"tool.garden.calls": 2, "tool.garden.us": 100, "turn.outcome.answered": 1}
    after = {
        **before,
        "tool.garden.calls": 3,
        "tool.garden.us": 2_600,
        "tool.rest.calls": 1,
        "tool.rest.failed": 1,
        "tool.confirm.agreed": 1,
    }
    assert serving(before, after) == {"garden": Served(1, 0, 2.5), "rest": Served(1, 1, 0.0)}


async def test_a_turn_that_was_not_served_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the MCP server the conversation goes on, and is not called good."""
    said = Line("feed the cat", lambda reply, device: True, "the garden", "garden")
    monkeypatch.setattr(tools, "script", lambda house, record: [said])
    monkeypatch.setattr(conversation, "_show", lambda *shown: None)
    assert await tools.converse(None) == 1
