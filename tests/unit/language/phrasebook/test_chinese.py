from __future__ import annotations

from typing import Any

import pytest

from tests.unit.language.phrasebook.tools import BOARD, COMMON
from vixio.core.errors import ConfigError
from vixio.language.phrasebook import Call, CompiledPhrases, PhraseBook


@pytest.fixture(scope="module")
def phrases() -> CompiledPhrases:
    return PhraseBook.load("zh-CN").compile([*COMMON, *BOARD])


@pytest.mark.parametrize(
    ("text", "tool_end", "arguments"),
    [
        ("把音量调到百分之三十", "set_volume", {"volume": 30}),
        ("音量调到30%", "set_volume", {"volume": 30}),
        ("请把声音调到一百。", "set_volume", {"volume": 100}),
        ("静音", "set_volume", {"volume": 0}),
        ("现在音量是多少？", "get_device_status", {}),
        ("大声一点", "get_device_status", {}),
        ("亮度调到五十", "set_brightness", {"brightness": 50}),
        ("现在几点了", "get_time", {}),
        ("今天星期几", "get_date", {}),
        ("切换到深色主题", "set_theme", {"theme": "dark"}),
        ("你看到了什么", "take_photo", {"question": "你看到了什么？"}),
        ("拍张照片，告诉我桌上有什么", "take_photo", {"question": "桌上有什么"}),
        ("打开灯", "lamp_turn_on", {}),
        ("把灯关掉", "lamp_turn_off", {}),
        ("灯的状态怎么样", "lamp_get_state", {}),
        ("把灯带亮度调到五", "led_strip_set_brightness", {"level": 5}),
        ("把灯变成红色", "light_set_rgb", {"r": 255, "g": 0, "b": 0}),
        ("前进", "chassis_go_forward", {}),
        ("跳舞", "chassis_dance", {}),
        ("让小狗走两步", "dog_walk", {"steps": 2}),
        ("关闭风扇", "fan_set_power", {"on": False}),
        ("风扇模式设为节能", "fan_set_mode", {"mode": "eco"}),
    ],
)
def test_a_sentence_calls_its_tool(
    phrases: CompiledPhrases, text: str, tool_end: str, arguments: dict[str, Any]
) -> None:
    match = phrases.match(text)
    assert match is not None
    step = match.proceed()
    assert isinstance(step, Call)
    assert step.tool.endswith(tool_end)
    assert step.arguments == arguments


@pytest.mark.parametrize("text", ["今天天气怎么样", "音量调到一百零一", "播放音乐", "，。"])
def test_anything_else_is_not_understood(phrases: CompiledPhrases, text: str) -> None:
    assert phrases.match(text) is None


@pytest.mark.parametrize(
    ("text", "result", "reply"),
    [
        ("你好", "", "你好！有什么可以帮你？"),
        ("音量三十", "true", "音量已设为百分之30。"),
        ("现在几点", "14:05", "现在是14点05分。"),
        ("今天几号", "2026-08-13", "今天是2026年8月13日，星期四。"),
        ("打开灯", "true", "好的，灯已打开。"),
        ("打开灯", "false", "抱歉，没有成功。"),
        ("灯的状态怎么样", '{"power": true}', "灯状态：开。"),
        (
            "灯的状态怎么样",
            '{"brightness": 40, "color_temp": 3000, "fw_rev": "1.2"}',
            "灯状态：亮度 40，颜色温度 3000。",
        ),
        ("灯的状态怎么样", '{"fw_rev": "1.2", "uptime": 90}', "抱歉，设备没有说明。"),
        ("灯的状态怎么样", '{"error": {"type": "failed", "message": "no"}}', "抱歉，没有成功。"),
        ("现在音量是多少？", '{"battery": {"level": 90}}', "抱歉，设备没有说明。"),
    ],
)
def test_the_reply_is_filled(phrases: CompiledPhrases, text: str, result: str, reply: str) -> None:
    match = phrases.match(text)
    assert match is not None
    assert match.reply(result) == reply


def test_there_is_no_book_for_a_language_without_one() -> None:
    assert PhraseBook.load("zh-TW") is PhraseBook.load("zh")
    for language in ("ko", "", "../en"):
        with pytest.raises(ConfigError, match="no phrase book for the language"):
            PhraseBook.load(language)
