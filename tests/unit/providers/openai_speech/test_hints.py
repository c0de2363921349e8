"""Prompts and keywords: made of tools of any shape, and within their limits."""

from __future__ import annotations

import pytest

from vixio.core.tools.types import ToolDefinition
from vixio.providers.openai_speech.hints import prompt_of, terms_of


def tool(name: str, parameters: object = None) -> ToolDefinition:
    return ToolDefinition(name, "", parameters or {})  # type: ignore[arg-type]  # any shape


def test_names_become_words() -> None:
    tools = [
        tool("self.audio_speaker.set_volume"),
        tool("getWeather"),
        tool("weather__get_forecast_2"),
        tool("self.get"),
        tool("打开窗帘"),
    ]
    assert terms_of(tools) == ["audio speaker volume", "weather", "weather forecast", "打开窗帘"]


@pytest.mark.parametrize(
    "parameters",
    [
        [],
        {"properties": []},
        {"properties": {"a": 3}},
        {"properties": {"a": {"enum": "x"}}},
        {"properties": {"a": {"enum": [1, None, "12", "x" * 99]}}},
    ],
)
def test_schemas_of_any_shape_do_no_harm(parameters: object) -> None:
    assert terms_of([tool("lamp", parameters)]) == ["lamp"]


def test_what_cannot_be_sent_is_left_out() -> None:
    odd = {"properties": {"a": {"enum": ["den\ud800"]}}}
    assert terms_of([tool("lamp\ud800", odd)]) == ["lamp", "den"]


def test_many_tools_are_bounded() -> None:
    assert (
        len(terms_of(tool(f"tool {chr(97 + n % 26)}{chr(97 + n // 26)}") for n in range(600)))
        == 100
    )


@pytest.mark.parametrize("most", [0, 1, 10, 40, 600])
def test_the_prompt_keeps_its_bound_and_its_end(most: int) -> None:
    made = prompt_of("Say it well.", ["Zoë"], ["lamp turn on", "fan turn off"] * 9, most)
    assert len(made) <= most
    assert "Say it well.".endswith(made[-min(12, most) :]) or most == 0


def test_the_tools_go_first() -> None:
    made = prompt_of("", ["Zoë"], ["lamp", "a term that does not fit any more"], 16)
    assert made == "lamp, Zoë."
    assert prompt_of("", [], [], 100) == ""
