"""A home by voice without a model: lamps, heating and doors of a Home Assistant, over sockets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.waiting import until
from vixio.testing import ScriptedASR, ScriptedTTS, ScriptedVAD
from vixio.tools.mcp.source import McpSource
from vixio_bench.home_assistant import CHINESE, HomeAssistantService, Thing
from vixio_bench.vendors.dashscope.service import KEY, DashScopeService

BOUND = 60.0


def typed() -> dict[str, Any]:
    """Return providers for what is typed: they hear nothing, and speak silence."""
    voice = ScriptedTTS(seconds_per_char=0.01)
    return {"vad": ScriptedVAD(), "asr": ScriptedASR([""]), "tts": voice}


def source_of(server: RunningServer) -> McpSource:
    return next(each for each in server.app.tools.sources if isinstance(each, McpSource))


@asynccontextmanager
async def house(
    home: HomeAssistantService,
    section: dict[str, Any] | None = None,
    providers: dict[str, Any] | None = None,
    **sections: Any,  # noqa: ANN401 - of the settings
) -> AsyncIterator[tuple[RunningServer, SimulatedDevice]]:
    """A server with this home, and a device that is connected to it."""
    config = settings(mcp_servers={"home": section or home.section}, **sections)
    given = typed() if providers is None else providers
    async with serving(config, **given) as server:
        async with asyncio.timeout(BOUND):
            await source_of(server).ready()
        async with SimulatedDevice(server.device()) as device:
            yield server, device


async def said(device: SimulatedDevice, text: str) -> str:
    reply = await device.type_text(text)
    assert reply.ended
    return reply.text


async def test_by_ear_with_the_default_recogniser() -> None:
    async with HomeAssistantService() as home, house(home, providers={}) as (server, device):
        turns = server.ended_turns()
        for spoken, answer in (
            ("turn on the light in the kitchen", "The light in the kitchen is on."),
            ("turn the bedside lamp off", "Okay, bedside lamp is off."),
            ("dim the floor lamp to thirty percent", "Okay, floor lamp is at 30 percent."),
            ("is the front door locked", "The front door is locked."),
            (
                "turn on the light in the office",
                "Home Assistant shows me nothing like that in Office.",
            ),
        ):
            reply = await device.ask(spoken)
            assert reply.text == answer, reply.stt
            assert_played_well(reply)
        assert home.calls == [
            ("HassTurnOn", {"area": "Kitchen", "domain": ["light"]}),
            ("HassTurnOff", {"name": "Bedside Lamp", "area": "Bedroom"}),
            ("HassLightSet", {"name": "Floor Lamp", "area": "Living Room", "brightness": 30}),
        ]
        assert home.thing("Counter Light").state == "on"
        assert home.thing("Office Lamp").state == "off"
        assert_nothing_wrong(device)
    assert len(turns) == 5
    # From the end of speech to the call: counted, and not judged on a busy machine.
    times = [turn.timeline.log_fields()["calls_ms"] for turn in turns]
    print("ms from the end of speech to the call:", times)  # noqa: T201 - a figure, for -s
    assert all(isinstance(each, list) and len(each) == 1 and each[0] >= 0 for each in times)


async def test_by_ear_in_chinese() -> None:
    async with HomeAssistantService(CHINESE) as home, DashScopeService() as ears:
        asr = {"name": "dashscope", "url": ears.tasks_url, "api_key": KEY}
        providers = {"tts": ScriptedTTS(seconds_per_char=0.01)}
        config = {"asr": asr, "assistant": {"language": "zh-CN"}}
        async with house(home, providers=providers, **config) as (_, device):
            for spoken, answer in (
                ("打开厨房的灯。", "厨房的灯开了。"),
                ("把床头灯关掉", "好的，床头灯关了。"),
                ("把卧室的温度调到21度", "卧室的温度设为21度。"),
                ("客厅多少度？", "客厅21.5 °C。"),
                ("前门锁了吗", "前门锁着。"),
                ("打开迪斯科球", "Home Assistant 里没有公开“迪斯科球”。"),
            ):
                ears.otherwise = spoken
                reply = await device.ask("hello there")
                assert reply.text.replace("， ", "，") == answer
            assert [each for each, _ in home.calls] == [
                "HassTurnOn",
                "HassTurnOff",
                "HassClimateSetTemperature",
            ]
            assert home.thing("吸顶灯").state == "on"
            assert_nothing_wrong(device)


TYPED = (
    ("turn off all the lights", "The lights are off."),
    ("turn on the light", "There are several: kitchen"),
    ("dim the lights to 30%", "The lights are at 30 percent."),
    ("open the blinds", "I am opening them."),
    ("set the bedroom to 21 degrees", "The bedroom is set to 21 degrees."),
    ("what is the temperature in the living room", "It is 21.5 °C in the living room."),
    ("how warm is it in the bedroom", "It is 18.5 °C in the bedroom."),
    ("is the back window open", "The back window is open."),
    ("are the kitchen lights on", "Ceiling Lamp on, Counter Light on."),
    ("activate movie night", "Okay, movie night is on."),
    ("turn on the disco ball", "Home Assistant shows me no disco ball."),
    ("turn on the old heater", "Old Heater cannot be reached."),
    (
        "turn on the floor lamp in the kitchen",
        "Home Assistant shows me nothing like that in Kitchen.",
    ),
)


async def test_everything_that_is_wanted_and_what_cannot_be_done() -> None:
    async with HomeAssistantService() as home, house(home) as (server, device):
        for words, answer in TYPED:
            assert (await said(device, words)).lower().startswith(answer.lower()), words
        assert home.thing("Roller Blinds").state == "open"
        assert home.thing("Garage Door").state == "closed"
        assert home.thing("Bedroom Thermostat").attributes["temperature"] == "21"
        assert home.thing("Disco Ball").state == "off"
        home.trouble = "intents"
        assert await said(device, "turn on the desk fan") == "Home Assistant could not do that."
        assert server.count("tool.home.unavailable") == 5
        assert_nothing_wrong(device)


async def test_doors_ask_first_with_the_phrase_book() -> None:
    async with HomeAssistantService() as home, house(home) as (_, device):
        for words, name, state in (
            ("unlock the front door", "Front Door", "unlocked"),
            ("open the garage door", "Garage Door", "open"),
        ):
            assert "Shall I really do that?" in await said(device, words)
            assert not home.calls
            await said(device, "no")
            assert not home.calls
            assert "Shall I really do that?" in await said(device, words)
            await said(device, "yes")
            assert home.thing(name).state == state
            home.calls.clear()


async def test_a_model_has_home_assistants_own_tools_and_doors_ask_it_too() -> None:
    async with HomeAssistantService(namespaced=True) as home, LLMServer() as model:
        unlock = '{"name": "front door", "domain": ["lock"]}'
        model.script(
            calls(Call("1", "intent__HassTurnOn", '{"area": "Kitchen", "domain": ["light"]}')),
            text("Done."),
            calls(Call("2", "intent__HassTurnOff", '{"area": "hall"}')),
            text("Shall I unlock the front door?"),
            calls(Call("3", "intent__HassTurnOff", unlock)),
            text("Really unlock it?"),
            calls(Call("4", "intent__HassTurnOff", unlock)),
            text("It is unlocked."),
        )
        agent = {"name": "openai", "model": "m", "base_url": model.base_url}
        async with house(home, agent=agent) as (_, device):
            assert await said(device, "light in the kitchen please") == "Done."
            assert home.thing("Ceiling Lamp").state == "on"
            await said(device, "all off in the hall")
            assert len(home.calls) == 1
            await said(device, "no, unlock the front door")
            assert len(home.calls) == 1
            assert await said(device, "yes") == "It is unlocked."
            assert home.thing("Front Door").state == "unlocked"
        offered = {tool["function"]["name"] for tool in model.requests[0]["tools"]}
        assert {"intent__HassTurnOn", "homeassistant__GetLiveContext"} <= offered
        assert not {each for each in offered if each.startswith("home_")}
        assert "x-words" not in str(model.requests[0]["tools"])


@pytest.mark.parametrize(
    ("trouble", "answer", "reason"),
    [
        ("refused", "Home Assistant does not accept my token.", "long-lived access token"),
        ("missing", "Home Assistant cannot be reached at the moment.", "Model Context Protocol"),
        ("error", "Home Assistant cannot be reached at the moment.", "answered HTTP 500"),
    ],
)
async def test_a_home_that_never_answered_is_said_and_the_log_has_the_remedy(
    trouble: str, answer: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with HomeAssistantService() as home:
        home.trouble = trouble
        with caplog.at_level(logging.WARNING):
            async with house(home) as (server, device):
                assert await said(device, "turn on the light") == answer
                assert await said(device, "turn on the light in the kitchen") == answer
                (fault,) = source_of(server).faults
                assert reason in fault.reason
                assert "\n" not in fault.reason
        logged = "\n".join(str(vars(each)) for each in caplog.records)
        assert reason in logged
        assert home.token not in logged


async def test_it_goes_away_comes_back_and_changes_in_mid_conversation() -> None:
    async with HomeAssistantService() as home:
        section = {**home.section, "refresh": 0.2}
        async with house(home, section) as (server, device):
            assert await said(device, "turn on the counter light") == "Okay, counter light is on."
            home.things.append(Thing("Reading Lamp", "light", "off", "Attic"))
            await until(lambda: "Attic" in words_of(server), what="the new room", seconds=BOUND)
            answer = await said(device, "turn on the light in the attic")
            assert answer == "The light in the attic is on."
            assert home.thing("Reading Lamp").state == "on"
            home.thing("Reading Lamp").exposed = False
            await until(lambda: "Attic" not in words_of(server), what="its end", seconds=BOUND)
            answer = await said(device, "turn on the reading lamp")
            assert answer == "Home Assistant shows me no reading lamp."
            await home.stop()
            answer = await said(device, "turn off the counter light")
            assert answer == "Home Assistant cannot be reached at the moment."
            assert home.thing("Counter Light").state == "on"
            await home.start()
            connects = source_of(server).connects
            await until(
                lambda: source_of(server).connects > connects or home_is_back(server),
                what="the connection",
                seconds=BOUND,
            )
            assert await said(device, "turn off the counter light") == "Okay, counter light is off."
            home.token = "another"
            answer = await said(device, "turn on the counter light")
            assert answer == "Home Assistant does not accept my token."
            assert_nothing_wrong(device)


def words_of(server: RunningServer) -> str:
    return str([tool.parameters for tool in source_of(server).tools()])


def home_is_back(server: RunningServer) -> bool:
    return any(tool.name == "HassTurnOn" for tool in source_of(server).tools())


async def test_the_older_way_over_server_sent_events() -> None:
    async with HomeAssistantService() as home:
        section = {**home.section, "url": f"{home.root}/mcp_server/sse"}
        async with house(home, section) as (_, device):
            assert await said(device, "turn on the desk fan") == "Okay, desk fan is on."
            await home.stop()
            answer = await said(device, "turn off the desk fan")
            assert answer == "Home Assistant cannot be reached at the moment."


async def test_a_home_that_exposes_nothing_says_so() -> None:
    async with HomeAssistantService(()) as home, house(home) as (_, device):
        assert (
            await said(device, "turn on the light") == "Home Assistant shows me nothing like that."
        )
