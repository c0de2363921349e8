"""Ready tools in spoken conversations: weather, news, sums, dates, a calendar."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import serving, settings
from tests.support.llm_server import Call, LLMServer, calls, text
from vixio.settings import Settings
from vixio.testing import ScriptedTTS
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.dashscope.service import KEY, DashScopeService
from vixio_bench.vendors.ready.service import ReadyService, calendar

DEVICE = "02:00:00:00:00:01"


@pytest_asyncio.fixture
async def service() -> AsyncIterator[ReadyService]:
    async with ReadyService() as made:
        made.calendars["family"] = calendar(
            f"DTSTART;VALUE=DATE:{datetime.now(UTC):%Y%m%d}\nSUMMARY:Anna's birthday"
        )
        yield made


def house(service: ReadyService, place: str, **sections: dict[str, Any]) -> Settings:
    """Return settings with every ready tool at the stand-in, and a device at a place."""
    given = service.settings()
    given["calendar"] = {"addresses": [f"{service.http}/calendars/family"]}
    listed = ["calculator", "dates", *({name: options} for name, options in given.items())]
    assistant = {"time_zone": "UTC", **sections.pop("assistant", {})}
    return settings(
        tools={"ready": listed}, devices={DEVICE: {"place": place}}, assistant=assistant, **sections
    )


async def test_by_ear_and_voice_without_a_model(service: ReadyService) -> None:
    """The default recogniser, phrase book and voice."""
    async with (
        serving(house(service, "Berlin")) as server,
        SimulatedDevice(server.device(device_id=DEVICE)) as device,
    ):
        for asked, said in (
            ("what is the weather", "Berlin: rain, 12 degrees."),
            ("what is the weather in paris tomorrow", "Paris, tomorrow: overcast"),
            ("what is twelve times seven", "That is 84."),
            ("what is the news", "Bridge opens after three years."),
            ("how many days until christmas", "days."),
            ("what is on my calendar today", "On the calendar today: Anna's birthday."),
        ):
            reply = await device.ask(asked)
            assert said in reply.text, (asked, reply.text)
            assert_played_well(reply)
        before = dict(service.requests)
        reply = await device.ask("what is the weather")
        assert reply.text.startswith("Berlin: rain, 12 degrees.")
        assert service.requests == before, "the second time nobody is asked"
        assert server.count("tool.ready.failed") == 0
        assert_nothing_wrong(device)


CHINESE = (
    ("今天天气怎么样？", "北京现在有雨，12度。今天8到15度。"),
    ("明天天气怎么样", "北京明天阴，7到15度。"),
    ("柏林的天气", "没有找到叫柏林的地方"),
    ("十二乘以七等于多少", "等于84。"),
    ("今天有什么新闻", "大桥三年后通车"),
    ("离春节还有多少天", "天。"),
    ("今天农历几号", "月"),
    ("五英里是多少公里", "5英里等于8.04672公里"),
    ("今天有什么安排", "今天有1个安排"),
)


async def test_in_chinese_by_ear(service: ReadyService) -> None:
    async with DashScopeService() as ears:
        asr = {"name": "dashscope", "url": ears.tasks_url, "api_key": KEY}
        config = house(service, "北京", assistant={"language": "zh-CN"}, asr=asr)
        async with (
            serving(config, tts=ScriptedTTS(seconds_per_char=0.01)) as server,
            SimulatedDevice(server.device(device_id=DEVICE, mode="manual")) as device,
        ):
            for asked, said in CHINESE:
                ears.otherwise = asked
                reply = await device.ask("some words that are heard so")
                assert said in reply.text.replace(" ", ""), (asked, reply.text)


@pytest.mark.parametrize(
    ("language", "asked", "said"),
    [
        ("en", "what is the weather", "Sorry, the weather service cannot be reached just now."),
        ("zh-CN", "今天天气怎么样", "抱歉，现在连接不上天气服务。"),
        ("de", "wie ist das Wetter", "Leider ist der Wetterdienst gerade nicht erreichbar."),
    ],
)
async def test_a_service_that_is_down_is_said(
    service: ReadyService, language: str, asked: str, said: str
) -> None:
    config = house(service, "Berlin", assistant={"language": language})
    await service.stop()
    async with (
        serving(config, tts=ScriptedTTS(seconds_per_char=0.01)) as server,
        SimulatedDevice(server.device(device_id=DEVICE)) as device,
    ):
        reply = await device.type_text(asked)
        assert reply.text.replace("， ", "，") == said
        assert_played_well(reply)


async def test_a_model_is_given_the_data_or_the_reason(service: ReadyService) -> None:
    async with LLMServer() as model:
        agent = {"name": "openai", "base_url": model.base_url}
        async with (
            serving(house(service, "Berlin", agent=agent), tts=ScriptedTTS()) as server,
            SimulatedDevice(server.device(device_id=DEVICE)) as device,
        ):
            call = Call("1", "get_weather", '{"place": "Paris, Texas"}')
            model.script(calls(call), text("It rains in Paris."))
            assert (await device.type_text("and in Paris, Texas?")).text == "It rains in Paris."
            given = str(model.requests[-1]["messages"])
            assert "Texas" in given
            assert "rain_percent" in given
            service.fail(Trouble.BUSY)
            model.script(calls(Call("2", "get_news", "{}")), text("Later."))
            await device.type_text("news")
            assert "was asked too often" in str(model.requests[-1]["messages"])
