"""``make demo-tools`` and ``vixio demo --mqtt``: printed, checked, and able to fail."""

from __future__ import annotations

import asyncio
import os
import sys
import wave
from pathlib import Path

import pytest

from examples.demos import client_tools, house_agent, house_broker, house_local, tools
from examples.demos.client_tools import OvenClient
from tests.e2e import harness
from tests.e2e.processes import running
from tests.support.brokers import nats_program
from tests.support.waiting import until
from vixio.bus import ToolError, connect
from vixio.cli.demo import conversation, idle
from vixio.cli.demo.conversation import Line, Served, serving
from vixio.server import Providers, Server
from vixio.settings import Settings
from vixio.testing import ScriptedASR, ScriptedTTS
from vixio.transports.xiaozhi import messages
from vixio.web.a2a import mount
from vixio_bench.nats_server import nats_server

BOUND = 240.0

ROOT = Path(__file__).parents[2]

RUN = "import sys; from examples.demos.__main__ import main; sys.exit(main())"


@pytest.mark.timeout(360)
async def test_tools_of_every_kind_are_used_for_real(tmp_path: Path) -> None:
    wav = tmp_path / "demo.wav"
    command = (sys.executable, "-c", RUN, "tools", "--wav", str(wav))
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    async with running(command, tmp_path, environment) as demo:
        last = await demo.line("turns as expected", seconds=BOUND)
        beside = await demo.line("turns of the A2A client", seconds=BOUND)
        async with asyncio.timeout(BOUND):
            await demo.process.wait()
    printed = "".join(demo.out)
    without = "; without NATS, see above" if house_broker.lacking() else ""
    assert last.strip() == f"9 of 9 turns as expected{without}", printed
    assert beside.strip() == "2 of 2 turns of the A2A client as expected", printed
    assert demo.process.returncode == 0
    assert "called  set_oven_temperature {" in printed
    assert "vixio   The oven temperature is 180 degrees." in printed
    for source in ("device", "local", "garden", "rest", "broker", "cook"):
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


@pytest.fixture
def hears_the_cat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a server without a real recogniser and voice: whatever is said, it hears the words."""

    def light(settings: Settings) -> Server:
        return Server(settings, Providers(asr=ScriptedASR(["feed the cat"]), tts=ScriptedTTS()))

    monkeypatch.setattr(conversation, "Server", light)


@pytest.mark.usefixtures("hears_the_cat")
async def test_a_turn_that_was_not_served_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the MCP server the conversation goes on, and is not called good."""
    said = Line("feed the cat", lambda reply, device: True, "the garden", "garden")
    monkeypatch.setattr(tools, "script", lambda around: [said])
    monkeypatch.setattr(conversation, "_show", lambda *shown: None)
    monkeypatch.setattr(client_tools, "TURNS", ())
    assert await tools.converse(None) == 1
    assert house_local.FED, "another source has served it"


@pytest.mark.usefixtures("hears_the_cat")
async def test_a_client_that_did_not_converse_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "script", lambda around: [])
    assert await tools.converse(None) == 1


async def test_a_clients_turn_that_is_not_as_expected_fails_in_one_line() -> None:
    token = "token-of-the-oven-0123456789"
    config = harness.settings(a2a={"tokens": {"oven": token}})
    speechless = harness.serving(config, asr=ScriptedASR(), tts=ScriptedTTS(), loaded=False)
    async with speechless as server:
        assert server.app.a2a is not None
        await server.app.a2a.loaded()
        url = f"{server.http_url}/a2a"
        alone, stranger = OvenClient(token), OvenClient("another-token-0123456789")
        await alone.converse(url, lambda: False)
        await stranger.converse(url, lambda: True)
    away = OvenClient(token)
    await away.converse(url, lambda: True)
    assert alone.lines[-1] == "  FAILED  no device was being answered meanwhile\n"
    assert alone.oven.temperature == 180
    assert stranger.lines[-1].startswith("  FAILED  HTTP 401")
    assert away.lines[-1].startswith("  FAILED  Cannot connect")
    assert [each.show() for each in (alone, stranger, away)] == [2, 2, 2]


def test_without_the_a2a_library_no_client_uses_the_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mount, "find_spec", lambda module: None)
    assert tools.oven_client() is None
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert "extra NAME=a2a" in printed


async def test_a_recipe_that_is_not_heard_has_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house_agent, "LISTENING_S", 0.2)
    cook = house_agent.Cook()
    events = [event async for event in cook.answer({"parts": [{"text": "the recipe"}]})]
    assert cook.asked == ["the recipe"]
    pieces = [event for event in events if "artifactUpdate" in event]
    assert len(pieces) == len(house_agent.BEGINNING)
    assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_FAILED"


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


IDLE_STEPS = 10


@pytest.mark.timeout(360)
async def test_idle_devices_are_reached_over_mqtt(tmp_path: Path) -> None:
    wav = tmp_path / "demo.wav"
    command = (sys.executable, "-m", "vixio", "demo", "--mqtt", "--wav", str(wav))
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    async with running(command, tmp_path, environment) as demo:
        last = await demo.line("steps as expected", seconds=BOUND)
        async with asyncio.timeout(BOUND):
            await demo.process.wait()
    printed = "".join(demo.out)
    assert last.strip() == f"{IDLE_STEPS} of {IDLE_STEPS} steps as expected", printed
    assert demo.process.returncode == 0
    assert "Traceback" not in "".join(demo.out + demo.err)
    assert "device  Reminder: water the plants." in printed
    assert "screen  Message: Reminder: feed the cat." in printed
    assert "it has run 2.0.3, then 2.1.0" in printed
    with wave.open(str(wav)) as file:
        assert file.getnchannels() == 2
        assert file.getnframes() / file.getframerate() > 5


@pytest.mark.usefixtures("hears_the_cat")
async def test_a_silent_reminder_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """The light server's voice is silence: its text is there, and nothing can be heard."""
    assert await idle.converse(None) == 1
    printed = capsys.readouterr().out
    assert "device  Reminder: water the plants." in printed
    assert "FAILED  expected: it has spoken by itself" in printed
    assert "ok      expected: the idle device's volume becomes 30" in printed


@pytest.mark.usefixtures("hears_the_cat")
async def test_a_device_that_is_not_roused_fails_the_demo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(idle, "BOUND_S", 0.5)
    monkeypatch.setattr(messages, "speak_request", lambda text: {"type": "unknown"})
    assert await idle.converse(None) == 1
    printed = capsys.readouterr().out
    assert "FAILED  expected: what did not happen: waited 0.5 s for the words" in printed
