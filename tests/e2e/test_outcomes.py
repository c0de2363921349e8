"""What became of a turn is on record as it was, spoken and typed, and what may have been heard."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from firmware_test_client import SimulatedDevice, Tool
from tests.e2e.api_client import DEFAULTS, api_server
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.event_stream import streaming
from tests.e2e.stages import knows_tool
from tests.e2e.test_metrics import page, samples
from tests.support import patient
from tests.support.waiting import until
from vixio.cli.commands import main
from vixio.core.messages import message
from vixio.web.api.scopes import Scope

LAMP = "self.lamp.turn_on"
FOREIGN = "what's the weather tomorrow"
STRANGE = "what is the capital of France"


def settings_in(folder: Path) -> Path:
    """Return a settings file whose data is where that of ``api_server`` is."""
    config = folder / "vixio.yaml"
    config.write_text(f"{patient.YAML}data: {{folder: {folder / 'data'}}}\n")
    return config


def shown(folder: Path, *arguments: str) -> str:
    """Return what a command writes; it has a loop of its own."""
    config = settings_in(folder)
    command, *rest = arguments
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(CliRunner().invoke, main, [command, "--config", str(config), *rest])
    assert run.result().exit_code == 0, run.result().output
    return run.result().output


async def test_with_the_default_set(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "vixio")
    async with api_server(tmp_path, made=DEFAULTS) as api:
        call = await api.client(Scope.DEVICES_READ, Scope.CONVERSATIONS_READ)
        token = await api.token(Scope.DEVICES_READ, Scope.CONVERSATIONS_READ)
        async with (
            streaming(api.http, api.server.http_url, token, types="transcript") as heard,
            SimulatedDevice(api.server.device(mode="manual")) as device,
        ):
            ended = api.server.ended_turns()
            device.add_tool(Tool(LAMP, "Turn on the lamp", (), lambda: False))
            await knows_tool(api.server, device, LAMP)
            await device.press_to_talk(FOREIGN)
            spoken = (await heard.until_type("transcript"))[-1]
            await device.type_text(STRANGE)
            assert (await device.type_text("turn on the lamp")).text == message("tool_failed", "en")
            await device.type_text("what time is it")
            await until(lambda: len(ended) == 4, what="the turns' end")
            assert_nothing_wrong(device)
        (listed,) = (await call("GET", "/conversations")).body["conversations"]
        turns = (await call("GET", f"/conversations/{listed['session_id']}")).body["turns"]
        counted = samples(await page(api.server.http_url))
        health = await api.http.get(f"{api.server.http_url}/healthz")
        counters = (await health.json())["counters"]
    declined, strange, lamp, time = turns
    assert [turn["outcome"] for turn in turns] == [
        "not_understood",
        "not_understood",
        "tool_failed",
        "answered",
    ]
    assert [turn["heard"] for turn in turns] == ["", STRANGE, "turn on the lamp", "what time is it"]
    assert declined["said"] == message("not_understood_first", "en")
    assert strange["said"] == message("not_understood", "en")
    assert declined["guess"]
    assert (spoken["understood"], spoken["text"]) == (False, "")
    assert spoken["guess"] == declined["guess"]
    assert {strange["guess"], lamp["guess"], time["guess"]} == {""}
    for outcome, number in (("not_understood", 2), ("tool_failed", 1), ("answered", 1)):
        assert counted[f"vixio_turns_total{{outcome={outcome}}}"] == number
        assert counters[f"turn.outcome.{outcome}"] == number
    assert not re.search(rf"{re.escape(declined['guess'])}|{STRANGE}", caplog.text, re.I)
    lines = shown(tmp_path, "conversations", "show", listed["session_id"]).splitlines()
    assert lines[0].endswith("turn 1, not_understood")
    assert lines[1] == f"  declined   heard perhaps: {declined['guess']}"
    assert f"  user       {STRANGE}" in lines


def test_a_typed_conversation_has_both_sides(tmp_path: Path) -> None:
    """As `vixio chat` is one; its memory has them too."""
    said = f"{STRANGE}\nset a timer for ten minutes\nforget about cheese\nhello\n"
    chat = ["chat", "--config", str(settings_in(tmp_path))]
    done = CliRunner().invoke(main, chat, input=said)
    assert done.exit_code == 0, done.output
    session = shown(tmp_path, "conversations").splitlines()[1].split()[0]
    lines = shown(tmp_path, "conversations", "show", session).splitlines()
    words = [line for line in lines if re.match(r"  (user|calls|assistant) ", line)]
    assert [re.sub(r"\d+ ms", "1 ms", line) for line in words] == [
        f"  user       {STRANGE}",
        f"  assistant  {message('not_understood_first', 'en')}",
        "  user       set a timer for ten minutes",
        '  calls      set_timer {"minutes": 10}, 1 ms, no_device',
        f"  assistant  {message('no_device', 'en')}",
        "  user       forget about cheese",
        '  calls      forget_fact {"about": "cheese"}, 1 ms, not_found',
        "  assistant  I did not remember anything like that.",
        "  user       hello",
        "  assistant  Hello! What can I do for you?",
    ]
    outcomes = [line.rpartition(" ")[2] for line in lines if "  turn " in line]
    assert outcomes == ["not_understood", "tool_failed", "answered", "answered"]
