"""The profile of a device, from the settings."""

from __future__ import annotations

from typing import Any

import pytest

from vixio.core.device import Device, DeviceProfile, ToolAccess
from vixio.core.greetings import WakeGreetings
from vixio.core.moment import NO_CONTEXT
from vixio.core.replacements import NO_REPLACEMENTS, Replacements
from vixio.core.roles import NO_ROLES
from vixio.data.devices.profiles import SettingsProfiles
from vixio.settings import Settings

MAC = "aa:bb:cc:dd:ee:0f"


def profiles(devices: dict[str, Any], **sections: Any) -> SettingsProfiles:  # noqa: ANN401 - YAML
    return SettingsProfiles(Settings.model_validate({**sections, "devices": devices}))


def test_a_device_without_a_section_is_served_as_all() -> None:
    settings = Settings.model_validate(
        {
            "assistant": {
                "place": "Berlin",
                "user_name": "Ann",
                "language": "de",
                "instructions": "Be brief.",
                "wake_reply": "Ja?",
            }
        }
    )
    assert SettingsProfiles(settings)(Device(MAC)) == DeviceProfile(
        place="Berlin",
        user="Ann",
        language="de",
        instructions="Be brief.",
        wake_greeting="Ja?",
        idle_timeout=120.0,
        daily_turns=0,
        pronunciations=NO_REPLACEMENTS,
        corrections=NO_REPLACEMENTS,
        keep_sound_days=0,
        context=NO_CONTEXT,
        roles=NO_ROLES,
    )


def test_a_section_is_over_what_is_for_all() -> None:
    found = profiles(
        {
            MAC: {
                "name": "Kitchen",
                "place": "",
                "language": "zh-CN",
                "wake_reply": "在呢。",
                "instructions": "用中文。",
                "tts": {"name": "espeak", "voice": "zh"},
            }
        },
        assistant={"place": "Berlin", "user_name": "Ann"},
    )(Device(MAC))
    assert (found.name, found.place, found.user) == ("Kitchen", "", "Ann")
    assert (found.language, found.wake_greeting) == ("zh-CN", "在呢。")
    assert found.instructions == "用中文。"
    assert found.tts is not None
    assert (found.asr, found.agent, found.vad) == (None, None, None)


@pytest.mark.parametrize(
    ("key", "matches"),
    [
        (MAC, True),
        ("AA-BB-CC-DD-EE-0F", True),
        ("AABBCCDDEE0F", True),
        ("AA-BB-*", True),
        ("aa:bb:*:0?", True),
        ("*", True),
        ("bb:*", False),
        ("client:UUID-*", True),
        ("client:other*", False),
        ("client:", False),
    ],
)
def test_keys_match_ids_in_any_spelling(key: str, matches: bool) -> None:
    device = Device(MAC, client_id="UUID-1")
    assert (profiles({key: {"name": "it"}})(device).name == "it") is matches


def test_later_sections_apply_over_earlier_ones_and_a_whole_id_last() -> None:
    resolve = profiles(
        {
            MAC: {"name": "mine", "tools": {"deny": ["d"]}},
            "aa:*": {"name": "first", "place": "first", "tools": {"allow": ["a"], "deny": ["b"]}},
            "*": {"place": "second", "user": "Ben", "tools": {"allow": ["c"], "confirm": ["e"]}},
        }
    )
    found = resolve(Device(MAC))
    assert (found.name, found.place, found.user) == ("mine", "second", "Ben")
    assert found.tools == ToolAccess(allow=("c",), deny=("b", "d"), confirm=("e",))
    assert resolve(Device("aa:1")) is resolve(Device("aa:2")), "one profile for equal devices"
    assert resolve(Device("b")).tools == ToolAccess(allow=("c",), confirm=("e",))


def test_a_provider_section_without_a_name_changes_single_options() -> None:
    settings = Settings.model_validate(
        {
            "agent": {"name": "openai", "api_key": "k", "model": "small"},
            "devices": {
                "a": {"agent": {"model": "large"}},
                "b": {"agent": {"name": "phrasebook"}},
                "c": {"asr": {"language": "en"}},
                "d": {"agent": {"model": "small"}},
            },
        }
    )
    sections = {key: dict(device.providers()) for key, device in settings.devices.items()}
    large = sections["a"]["agent"]
    assert large.name == "openai"
    assert large.options.model_dump()["model"] == "large"
    assert large.options.model_dump()["api_key"] == settings.agent.options.model_dump()["api_key"]
    assert sections["b"]["agent"].name == "phrasebook"
    assert sections["c"]["asr"].name == "pocketsphinx"
    assert sections["d"]["agent"] == settings.agent, "it shares the server's provider"


def test_limits_of_a_device_are_kept_below_those_of_the_server() -> None:
    settings = Settings.model_validate(
        {
            "timeouts": {"agent_first": 5, "tts": 4},
            "devices": {"a": {"agent": {"name": "phrasebook"}, "tts": [{"name": "espeak"}] * 2}},
        }
    )
    sections = dict(settings.devices["a"].providers())
    assert sections["agent"].options.model_dump()["first_token_timeout"] < 5
    assert sections["tts"].patience < 4


def test_how_a_conversation_goes_can_differ() -> None:
    both = profiles(
        {
            MAC: {"idle_timeout": 0, "exit_phrases": [], "wake_reply": {"hi esp": "Yes?"}},
            "bb:*": {"pronunciations": {"Vixio": "Vicksio"}, "corrections": {}},
            "aa:*": {"idle_timeout": 30, "exit_phrases": ["ende"]},
        },
        assistant={"wake_reply": ["Hm?", "Ja?"], "corrections": {"weak see oh": "Vixio"}},
    )
    own, other = both(Device(MAC)), both(Device("aa:00:00:00:00:01"))
    assert (own.idle_timeout, own.exit_phrases) == (0, ())
    assert own.wake_greeting == WakeGreetings.of({"hi esp": "Yes?"})
    assert (other.idle_timeout, other.exit_phrases) == (30, ("ende",))
    assert other.wake_greeting == WakeGreetings.of(["Hm?", "Ja?"])
    words = both(Device("bb:00:00:00:00:01"))
    assert words.idle_timeout == 120
    assert words.pronunciations == Replacements.of({"Vixio": "Vicksio"})
    assert words.corrections == NO_REPLACEMENTS
    assert own.corrections == Replacements.of({"weak see oh": "Vixio"})
