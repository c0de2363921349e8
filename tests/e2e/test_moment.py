"""What a profile's context says stands in what the model is sent, in a spoken conversation."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.llm_server import LLMServer, text
from tests.support.moment_server import MomentServer
from tests.support.waiting import until
from tests.unit.tools.mcp.servers import BOUND, SCRIPT
from vixio.cli.diagnostics.live_tools import tool_rows
from vixio.settings import Settings
from vixio.tools.mcp.source import McpSource
from vixio.tools.moment import HEADING

ANN = "02:00:00:00:00:0a"
SOUND = "good morning"
FAMILY = {"family": {"command": sys.executable, "args": [str(SCRIPT), "stdio"]}}


@pytest.fixture
async def model() -> AsyncIterator[LLMServer]:
    async with LLMServer() as server:
        yield server


@pytest.fixture
async def house() -> AsyncIterator[MomentServer]:
    async with MomentServer() as server:
        yield server


def told_by(model: LLMServer, context: dict[str, Any], **sections: Any) -> Settings:  # noqa: ANN401 - YAML
    return settings(
        agent={"name": "openai", "api_key": "k", "base_url": model.base_url, "model": "m"},
        devices={ANN: {"context": context}},
        **sections,
    )


def information(model: LLMServer, index: int = -1) -> dict[str, str]:
    """Return what a request's instructions say of the moment, by name."""
    instructions = model.requests[index]["messages"][0]["content"]
    _, heading, listed = instructions.partition(HEADING)
    if not heading:
        return {}
    lines = [line.removeprefix("- ") for line in listed.strip().splitlines()]
    return {line.partition(" (")[0]: json.loads(line.partition("): ")[2]) for line in lines}


def answered(server: RunningServer, number: int) -> bool:
    asked, failed = server.count("context.asked"), server.count("context.failed")
    answers = server.app._device_services.moments._answers.values()
    return asked >= number and not any(each.asking for each in answers) and asked >= failed


async def test_addresses_and_a_resource_stand_in_the_instructions(
    model: LLMServer, house: MomentServer
) -> None:
    context = {
        "room": {
            "url": house.url("/state"),
            "headers": {"Authorization": "Bearer hunter2"},
            "result": "state.temperature",
            "text": "{value} degrees",
        },
        "notice": house.url("/notice"),
        "calendar": {"mcp": "family", "resource": "calendar://today"},
        "broken": house.url("/broken"),
        "away": house.url("/away"),
        "no server": {"mcp": "nobody", "resource": "x://y"},
        "no calendar": {"mcp": "family", "resource": "calendar://broken"},
    }
    recogniser = WaveformASR(await recordings([SOUND]))
    async with serving(told_by(model, context, mcp_servers=FAMILY), asr=recogniser) as server:
        source = next(each for each in server.app.tools.sources if isinstance(each, McpSource))
        async with asyncio.timeout(BOUND):
            await source.ready()
        async with SimulatedDevice(server.device(device_id=ANN)) as device:
            await until(lambda: answered(server, 7), what="the answers")
            model.script(text("Good morning."), text("Yes."))
            reply = await device.ask(SOUND)
            assert_played_well(reply)
            assert information(model) == {
                "room": "21.5 degrees",
                "notice": "Bin day. Put it out[31m!",
                "calendar": "10:00 dentist 15:30 swimming",
            }
            await device.type_text("again")
            assert len(information(model)) == 3
            assert_nothing_wrong(device)
        assert house.asked.count("/state") == 1, "it is asked once, and kept"
        assert house.headers[house.asked.index("/state")]["authorization"] == "Bearer hunter2"
        assert server.count("context.failed") == 4
        assert "hunter2" not in json.dumps(model.requests)
        async with SimulatedDevice(server.device(device_id=ANN)) as device:
            model.script(text("Hello."))
            await device.type_text("hello")
            assert information(model)["room"] == "21.5 degrees"
        assert house.asked.count("/state") == 1, "the next conversation has it from the cache"


async def test_what_is_late_is_not_waited_for(model: LLMServer, house: MomentServer) -> None:
    context = {"late": house.url("/held"), "room": house.url("/state")}
    async with (
        serving(told_by(model, context), asr=WaveformASR({})) as server,
        SimulatedDevice(server.device(device_id=ANN)) as device,
    ):
        model.script(text("One."), text("Two."))
        await until(lambda: "/held" in house.asked, what="the question")
        assert (await device.type_text("first")).text == "One."
        assert not house.go.is_set(), "the answer is still held back"
        assert "late" not in information(model)
        assert server.count("context.late") == 1
        house.go.set()
        await until(lambda: answered(server, 2), what="the answer")
        await device.type_text("second")
        assert information(model)["late"] == "late"
        assert_nothing_wrong(device)


async def test_a_stored_profile_reaches_no_private_address(
    model: LLMServer, house: MomentServer
) -> None:
    config = told_by(model, {}).model_copy(update={"devices": {}})
    async with serving(config, asr=WaveformASR({})) as server:
        registry = server.app.registry
        await registry.with_repository(lambda desk: desk.add(ANN, "test"))
        await registry.with_repository(
            lambda desk: desk.profiles.put("p", {"context": {"room": house.url("/state")}}, "test")
        )
        await registry.with_repository(lambda desk: desk.assign(ANN, "p", "test"))
        async with SimulatedDevice(server.device(device_id=ANN)) as device:
            await until(lambda: answered(server, 1), what="the refusal")
            model.script(text("One."))
            await device.type_text("first")
            assert information(model) == {}
        assert house.asked == []
        assert server.count("context.failed") == 1


async def test_check_live_asks_each_once_and_names_faults(house: MomentServer) -> None:
    context = {
        "room": {"url": house.url("/state"), "result": "state.temperature"},
        "empty": house.url("/empty"),
        "calendar": {"mcp": "family", "resource": "calendar://today"},
        "nobody": {"mcp": "nobody", "resource": "x://y"},
    }
    config = settings(
        assistant={"context": context},
        devices={ANN: {"context": {"room": context["room"], "broken": house.url("/broken")}}},
        mcp_servers=FAMILY,
    )
    rows = {row.part: row async for row in tool_rows(config, BOUND) if "context" in row.part}
    assert {part: row.ok for part, row in rows.items()} == {
        "assistant.context.room": True,
        "assistant.context.empty": False,
        "assistant.context.calendar": True,
        "assistant.context.nobody": False,
        f"devices.{ANN}.context.broken": False,
    }
    assert "21.5" in rows["assistant.context.room"].detail
    assert "dentist" in rows["assistant.context.calendar"].detail
    assert "mcp_servers has no server 'nobody'" in rows["assistant.context.nobody"].detail
    assert "500" in rows[f"devices.{ANN}.context.broken"].detail
    assert house.asked.count("/state") == 1
