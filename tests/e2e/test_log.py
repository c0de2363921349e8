"""The log of spoken conversations: whose line it is, and that nobody's words are in it."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from loguru import logger as loguru

from firmware_test_client import DeviceError, SimulatedDevice, Tool
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.stages import knows_tool
from tests.support.waiting import until
from vixio.core.errors import ProviderError
from vixio.settings import Settings
from vixio.telemetry.logging import setup as logs
from vixio.testing import ScriptedAgentBackend, ToolUse
from vixio.testing.providers import Step

LAMP = "self.lamp.colour"
KETTLE = "self.kettle.boil"

SCRIPT: dict[str, tuple[Step, ...]] = {
    "good morning albert": ("Good day Wilhelmina.",),
    "make the lamp turquoise": (
        ToolUse("self_lamp_colour", {"colour": "turquoise"}),
        "It is turquoise.",
    ),
    "put the kettle on": (ToolUse("self_kettle_boil", {}), "The kettle is broken."),
    "tell me about dragons": (ValueError("dragons"),),
    "write a poem": (ProviderError("scripted", "the key is refused", reason="no_key"),),
}
"""What the user says, and how it is answered: a call, a failing call, a defect, a failure."""

PRIVATE = re.compile(
    r"albert|morning|wilhelmina|good day|turquoise|make the|kettle on|dragon|poem|broken|heated",
    re.IGNORECASE,
)
"""Words of either side and of the tools, and no part of a tool's name."""


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Receives the log; loguru is restored afterwards."""
    yield io.StringIO()
    logs.flush_logs()
    loguru.remove()
    loguru.add(sys.__stderr__ or io.StringIO())


def text_of(stream: io.StringIO) -> str:
    logs.flush_logs(30)
    return stream.getvalue()


def objects(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text_of(stream).splitlines()]


def boil() -> bool:
    raise RuntimeError("overheated")


async def converse(config: Settings, said: Sequence[str] = tuple(SCRIPT)) -> str:
    """Say what is in ``said`` over a real socket, then type; return the device's id."""
    asr = WaveformASR(await recordings(said))
    agent = ScriptedAgentBackend(lambda text: SCRIPT.get(text, ("What?",)))
    async with serving(config, asr=asr, agent=agent) as server:
        device_id = await _speak(server, said)
        await until(lambda: not len(server.app.sessions), what="the end of the session")
    return device_id


async def _speak(server: RunningServer, said: Sequence[str]) -> str:
    async with SimulatedDevice(server.device(mode="manual", version=3)) as device:
        device.add_tool(Tool(LAMP, "Colour the lamp", (), lambda: True))
        device.add_tool(Tool(KETTLE, "Boil water", (), boil))
        await knows_tool(server, device, LAMP)
        await knows_tool(server, device, KETTLE)
        for words in said:
            reply = await device.press_to_talk(words)
            assert reply.stt == words
        await device.send_text("no JSON")
        assert (await device.type_text("good morning albert")).text == "Good day Wilhelmina."
        return device.config.device_id


async def test_no_word_of_a_conversation_is_in_the_log_for_people(stream: io.StringIO) -> None:
    logs.configure_logging("TRACE", stream=stream)
    said = ("make the lamp turquoise", "tell me about dragons")
    device_id = await converse(settings(), said)
    log = text_of(stream)
    assert log.count(" turn ended device=") == len(said) + 1
    assert f" device={device_id} session=" in log
    assert re.search(r" outcome=answered .*first_frame_ms=\d+ .*tools=\S*lamp\S* tools_ms=\d+", log)
    assert re.search(r" device listed its tools .*tool_count=\d+", log)
    assert not re.search(r" tools=\d", log), "a list in each line"
    assert PRIVATE.findall(log) == []


async def test_words_are_in_the_log_where_they_are_asked_for(stream: io.StringIO) -> None:
    """The log warns first. It is also the proof that the other tests can fail."""
    logs.configure_logging(stream=stream)
    await converse(settings(logging={"words": True}), ("good morning albert",))
    log = text_of(stream)
    first = log[: log.index("device connected")]
    assert re.search(r"WARNING .*logging\.words is true", first)
    assert "user said device=" in log
    assert 'text="good morning albert"' in log
    assert 'text="Good day Wilhelmina."' in log
    assert PRIVATE.findall(log)


SERVERS_OWN = {"capacity estimated"}
"""What a server says of itself whenever it is ready, also in the middle of a conversation."""


async def test_every_line_of_a_session_is_the_devices_and_has_no_words(stream: io.StringIO) -> None:
    logs.configure_logging("TRACE", json=True, stream=stream)
    device_id = await converse(settings())
    assert PRIVATE.findall(text_of(stream)) == []
    lines = objects(stream)
    messages = [line["message"] for line in lines]
    begin, end = messages.index("device connected"), messages.index("device disconnected")
    within = [line for line in lines[begin : end + 1] if line["message"] not in SERVERS_OWN]
    session = within[0]["session"]
    assert [
        line for line in within if (line.get("device"), line.get("session")) != (device_id, session)
    ] == []
    of_turns = [line for line in within if "turn" in line["message"]]
    assert all(isinstance(line["turn"], int) for line in of_turns)
    outside = [line for line in (*lines[:begin], *lines[end + 1 :]) if "session" in line]
    assert outside == []

    connected, disconnected = within[0], within[-1]
    assert connected["address"] == "127.0.0.1"
    assert (connected["transport"], connected["protocol"]) == ("websocket", "3")
    assert (connected["board"], connected["firmware"]) == ("simulated-board", "2.0.3")
    assert disconnected["reason"] == "the device is gone"
    assert disconnected["turns"] == len(SCRIPT) + 1
    assert disconnected["seconds"] > 0

    plain, lamp, kettle, defect, failure, typed = (
        line for line in within if line["message"] == "turn ended"
    )
    assert [line["outcome"] for line in (plain, lamp, typed)] == ["answered"] * 3
    for mark in ("turn_end_ms", "transcript_ms", "first_token_ms", "first_frame_ms", "heard_ms"):
        assert isinstance(plain[mark], int)
    assert "tools" not in plain
    assert len(lamp["tools"]) == len(lamp["tools_ms"]) == 1
    assert "colour" in lamp["tools"][0]
    assert "tools_failed" not in lamp
    assert kettle["tools_failed"] == kettle["tools"]
    assert kettle["outcome"] == "tool_failed"
    assert defect["outcome"] == failure["outcome"] == "failed"
    assert defect["error"].startswith("ValueError")
    assert "the key is refused" in failure["error"]


async def test_refusals_and_the_end_of_the_server(stream: io.StringIO) -> None:
    logs.configure_logging(json=True, stream=stream)
    secret = "0123456789abcdef"
    config = settings(server={"auth": {"enabled": True, "secret": secret}})
    async with serving(config, asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server:
        stranger = SimulatedDevice(server.device(ws_url=server.ws_url, token="guessed"))
        for _ in range(20):
            with pytest.raises(DeviceError):
                await stranger.start()
            await stranger.close()
        async with SimulatedDevice(server.device()) as device:
            await device.type_text("hello")
            server_log = objects(stream)
            await server.app.stop()
    refused = [line for line in server_log if line["message"] == "connection refused"]
    assert 1 <= len(refused) < 20
    assert refused[0]["reason"].startswith("token_")
    assert refused[0]["address"] == "127.0.0.1"
    assert refused[0]["device"] == stranger.config.device_id
    lines = objects(stream)
    left_out = sum(line.get("left_out", 0) for line in lines)
    named = sum(line["message"] == "connection refused" for line in lines)
    assert named + left_out == 20
    by_message = {line["message"]: line for line in lines}
    assert by_message["server stopping"]["devices"] == 1
    assert by_message["device disconnected"]["reason"] == "the server is stopping"
    stopped = by_message["server stopped"]
    assert stopped["devices"] == 1
    assert isinstance(stopped["seconds"], float)
    assert [line["message"] for line in lines].count("server stopped") == 1
