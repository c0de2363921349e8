"""A tool is found by every name that can mean it alone; near names are listed for the others."""

import pytest

from vixio.core.tools.toolset import ToolSet
from vixio.core.tools.types import ToolDefinition
from vixio.providers.openai_agent.model import ModelTool
from vixio.providers.openai_agent.offered import OfferedTools

VOLUME = "self_audio_speaker_set_volume"


def _offered(**sources: list[str]) -> OfferedTools:
    tools = ToolSet()
    for source, names in sources.items():
        tools.replace(source, [ToolDefinition(name, "probe") for name in names])
    return OfferedTools(
        [ModelTool(tool.alias, "probe", {}, tool) for tool in tools.definitions()],
    )


OFFERED = _offered(
    device=["self.audio_speaker.set_volume", "self.lamp.turn_on", "打开灯"],
    home=["lights.turn_on", "a" * 80, "getWeather"],
)


@pytest.mark.parametrize(
    "name",
    [
        VOLUME,
        "self.audio_speaker.set_volume",
        "functions.self_audio_speaker_set_volume",
        "functions.self.audio_speaker.set_volume",
        "self-audio-speaker-set-volume",
        " self_audio_speaker_set_volume\n",
        "Self_Audio_Speaker_Set_Volume",
        "selfAudioSpeakerSetVolume",
        "self audio speaker set volume",
        f"{VOLUME}<|channel|>commentary",
        f"{VOLUME}<|constrain|>json",
        f"{VOLUME} commentary",
        f"{VOLUME}<｜tool▁sep｜>",
        f"{VOLUME}<arg_key>volume",
        f"functions.{VOLUME}:0",
        f"default_api.{VOLUME}",
        f"default_api:{VOLUME}",
        f"to=functions.{VOLUME}",
        f"<function={VOLUME}>",
        f"<tool_call>{VOLUME}",
        f'"{VOLUME}"',
        f"`{VOLUME}()`",
        f"{VOLUME}(volume=40)",
        "ｓelf_audio_speaker_set_volume",
        "device.self.audio_speaker.set_volume",
        f"mcp__device__{VOLUME}",
    ],
)
def test_every_spelling_reaches_its_tool(name: str) -> None:
    found = OFFERED.find(name)
    assert found is not None
    assert found.name == VOLUME


@pytest.mark.parametrize(
    ("name", "real"),
    [
        ("打开灯", "打开灯"),
        ("functions.打开灯", "打开灯"),
        ("a" * 80, "a" * 80),
        ("get_weather", "getWeather"),
        ("home_lights_turn_on", "lights.turn_on"),
    ],
)
def test_tools_whose_alias_lost_letters_are_found_by_their_real_names(name: str, real: str) -> None:
    found = OFFERED.find(name)
    assert found is not None
    assert found.definition.name == real


@pytest.mark.parametrize(
    "name", ["", "  ", "functions.", "<|channel|>", "turn_on", "打开窗", "x" * 9999]
)
def test_a_name_that_means_no_tool_finds_none(name: str) -> None:
    assert OFFERED.find(name) is None


def test_a_name_that_could_be_two_tools_is_neither() -> None:
    offered = _offered(home=["turn-on", "turn_on"])
    assert offered.find("Turn On") is None
    assert sorted(offered.near("Turn On")) == ["turn-on", "turn_on"]
    exact = offered.find("turn-on")
    assert exact is not None
    assert exact.definition.name == "turn-on"


def test_the_name_that_is_offered_comes_before_the_real_name_of_another() -> None:
    offered = _offered(device=["lamp"], home=["lamp"])
    found = offered.find("lamp")
    assert found is not None
    assert found.definition.source == "device"
    found = offered.find("home.lamp")
    assert found is not None
    assert found.definition.source == "home"


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("set_volume", VOLUME),
        ("self_audio_set_volume", VOLUME),
        ("lamp_on", "self_lamp_turn_on"),
        ("turn_on_lights", "lights_turn_on"),
        ("get_wether", "getWeather"),
    ],
)
def test_near_names(name: str, first: str) -> None:
    assert OFFERED.find(name) is None
    assert OFFERED.near(name)[0] == first


@pytest.mark.parametrize("name", ["", "zzzz", "x" * 9999])
def test_nothing_is_near_a_foreign_name(name: str) -> None:
    assert list(OFFERED.near(name)) == []


def test_without_tools_nothing_is_found() -> None:
    assert OfferedTools(()).find("lamp") is None
    assert list(OfferedTools(()).near("lamp")) == []
