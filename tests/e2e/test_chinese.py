"""A house in Chinese: by ear as typed, nothing that the assistant says or shows is in English."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from firmware_test_client import Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.harness import RunningServer, serving, settings, zone_at
from tests.e2e.test_reminders import heard
from vixio.testing import ScriptedTTS
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.dashscope.service import KEY, DashScopeService

KITCHEN, HALL = "02:00:00:00:00:01", "02:00:00:00:00:02"
LATIN = re.compile(r"[A-Za-z]{3,}")

ASKED = (
    ("你好。", "你好"),
    ("现在几点了？", r"现在是\d+点"),
    ("今天星期几", "星期[一二三四五六日]"),
    ("把音量调到30%。", "音量已设为百分之30"),
    ("大声一点", "音量已设为百分之40"),
    ("还有多少电？", r"电量是百分之\d+"),
    ("帮我定个15分钟的定时器。", "计时15分钟"),
    ("计时器还剩多久？", "有1个：还剩1[45]分钟"),
    ("明天早上7点叫我起床。", r"闹钟设在\d+月\d+日7:00"),
    ("取消闹钟", "取消了1个"),
    ("记住我喜欢喝茶。", "我记住了：我喜欢喝茶"),
    ("你还记得我什么？", "我记得1件事：我喜欢喝茶"),
    ("忘掉一切", "真的要这样做吗"),
    ("对，确定。", "都忘掉了"),
    ("告诉厨房饭好了", "我来转告|下次使用"),
    ("量子力学是什么", "我没有听懂。我会报时间"),
    ("讲个笑话", "抱歉，我没有听懂"),
)
"""What is said, and what the answer has."""

TRADITIONAL = (
    ("現在幾點了？", r"现在是\d+点"),
    ("設一個十分鐘的計時器", "计时10分钟"),
    ("把聲音調到五十", "音量已设为百分之50"),
    ("忘掉一切", "真的要這樣做嗎|真的要这样做吗"),
    ("確定", "都忘掉了"),
)


@asynccontextmanager
async def house(
    folder: Path, language: str
) -> AsyncIterator[tuple[RunningServer, DashScopeService]]:
    """A server whose ears are the stand-in of a vendor."""
    async with DashScopeService() as ears:
        asr = {"name": "dashscope", "url": ears.tasks_url, "api_key": KEY}
        config = settings(
            # At three at night, tomorrow at seven is more than a day away: the answer has the date.
            assistant={"language": language, "time_zone": zone_at(3)},
            asr=asr,
            devices={KITCHEN: {"name": "厨房"}, HALL: {"name": "客厅"}},
            data={"folder": str(folder), "database": ""},
        )
        async with serving(config, tts=ScriptedTTS(seconds_per_char=0.01)) as server:
            yield server, ears


def listener(server: RunningServer) -> SimulatedDevice:
    """Return a device in the hall whose button is held while one speaks."""
    return SimulatedDevice(server.device(device_id=HALL, mode="manual"))


def words(reply: Reply) -> str:
    """Return what was shown, without the spaces between pieces."""
    said = reply.text.replace(" ", "")
    assert not LATIN.search(said.replace("Vixio", "")), said
    return said


@pytest.mark.parametrize("way", ["spoken", "typed"])
async def test_the_phrase_book_by_ear_as_typed(tmp_path: Path, way: str) -> None:
    async with house(tmp_path, "zh-CN") as (server, ears):
        async with listener(server) as device:
            for said, answer in ASKED:
                ears.otherwise = said
                talk = device.press_to_talk("hello there") if way == "spoken" else None
                reply = await (talk or device.type_text(said))
                assert re.search(answer, words(reply)), (said, reply.text)
            assert_nothing_wrong(device)
            if way == "spoken":
                await device.type_text("倒计时1秒")
                assert "1秒计时到了" in words(await heard(device, "计时到了"))
        assert not ears.account.violations


@pytest.mark.parametrize("language", ["zh-TW", "zh-HK", "zh-Hant"])
async def test_traditional_characters_are_understood(tmp_path: Path, language: str) -> None:
    async with house(tmp_path, language) as (server, ears), listener(server) as device:
        for said, answer in TRADITIONAL:
            ears.otherwise = said
            reply = await device.press_to_talk("hello there")
            assert re.search(answer, words(reply)), (said, reply.text)


async def test_what_fails_is_said_in_chinese(tmp_path: Path) -> None:
    async with house(tmp_path, "zh-CN") as (server, ears), listener(server) as device:
        ears.fail(*[Trouble.REFUSED] * 6)
        reply = await device.press_to_talk("hello there")
        assert words(reply) == "抱歉，语音识别的密钥无效。"
