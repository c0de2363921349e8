"""Words of tools, for hotwords."""

from __future__ import annotations

import time

from vixio.core.tools.types import ToolDefinition
from vixio.providers.tool_words import tool_words


def tool(name: str, description: str = "", **properties: object) -> ToolDefinition:
    return ToolDefinition(name, description, {"type": "object", "properties": properties})


def test_words_of_names_without_what_programmers_say() -> None:
    tools = [
        tool("self.audio_speaker.set_volume"),
        tool("getWeatherReport"),
        tool("TVFetch_v2"),
        tool("HTTPS"),
    ]
    assert tool_words(tools) == ("audio", "speaker", "volume", "weather", "report", "tv")


def test_words_of_choices_and_of_chinese_descriptions() -> None:
    tools = [
        tool("lamp", "打开台灯。The lamp in 客厅", mode={"enum": ["reading", "夜灯", 3, None]}),
        tool(
            "x",
            "这个描述太长了所以不会成为热词的一部分",
            broken="no schema",
            other={"enum": "no list"},
        ),
    ]
    assert tool_words(tools) == ("lamp", "reading", "夜灯", "打开台灯", "客厅")


def test_each_once_and_no_more_than_wanted() -> None:
    tools = [tool(f"self.thing.w{letter * 4}") for letter in "abcdefgh"] * 3
    assert tool_words(tools) == ("thing", *(f"w{letter * 4}" for letter in "abcdefgh"))
    assert len(tool_words(tools, limit=3)) == 3
    assert tool_words([]) == ()


def test_strange_schemas_are_passed_over() -> None:
    assert tool_words([ToolDefinition("fan", "", {"properties": [1, 2]})]) == ("fan",)
    assert tool_words([ToolDefinition("fan", "", {})]) == ("fan",)


def test_a_hundred_tools_take_no_time() -> None:
    tools = [
        tool(f"self.room{n}.lamp_{n}", "描述 " * 60, level={"enum": ["a"] * 50}) for n in range(100)
    ]
    started = time.process_time()
    tool_words(tools)
    assert time.process_time() - started < 0.5  # some milliseconds; never a matter of squares
