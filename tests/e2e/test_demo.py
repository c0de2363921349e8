"""``vixio demo --tools``, as a person runs it: printed, checked, and able to fail."""

from __future__ import annotations

import os
import sys
import wave
from pathlib import Path

import pytest

from tests.e2e.processes import running
from tests.support.brokers import nats_program
from tests.support.waiting import until
from vixio.bus import ToolError, connect
from vixio.demo import conversation, house_broker, tools
from vixio.demo.conversation import Line, Served, serving
from vixio.demo.nats_server import nats_server

BOUND = 150.0

RUN = "from vixio.cli.commands import main; main()"


@pytest.mark.timeout(200)
async def test_tools_of_every_kind_are_used_for_real(tmp_path: Path) -> None:
    wav = tmp_path / "demo.wav"
    command = (sys.executable, "-c", RUN, "demo", "--tools", "--wav", str(wav))
    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    async with running(command, tmp_path, environment) as demo:
        last = await demo.line("turns as expected", seconds=BOUND)
        await demo.process.wait()
    printed = "".join(demo.out)
    assert last.strip() == "8 of 8 turns as expected", printed
    assert demo.process.returncode == 0
    for source in ("device", "local", "garden", "rest", "broker"):
        assert f"served  by {source}: 1 call, " in printed
    assert "served  by rest: 1 call" in printed
    assert "1 failed" in printed
    assert "Traceback" not in "".join(demo.out + demo.err)
    assert ("memory://" in printed) == bool(house_broker.lacking())
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
    monkeypatch.setattr(tools, "script", lambda around: [said])
    monkeypatch.setattr(conversation, "_show", lambda *shown: None)
    assert await tools.converse(None) == 1


async def test_a_story_that_is_not_heard_has_no_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(house_broker, "LISTENING_S", 0.2)
    story = house_broker.StoryService().invoke("", {"heard": str(tmp_path / "heard")}, {})
    told = [await anext(story) for _ in house_broker.BEGINNING]
    assert tuple(told) == house_broker.BEGINNING
    with pytest.raises(ToolError, match="nobody listens"):
        await anext(story)


async def test_without_nats_the_service_runs_in_this_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(house_broker, "find_program", lambda: None)
    async with house_broker.telling() as url:
        assert url.startswith("memory://")
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert "is not installed: pip install" in printed


async def test_the_nats_server_runs_until_the_block_ends() -> None:
    nats_program()
    async with nats_server() as url:
        bus = connect(url)
        await bus.start()
        await until(lambda: bus.connected, what="the connection")
    try:
        await until(lambda: not bus.connected, what="the server's end")
    finally:
        await bus.close()
