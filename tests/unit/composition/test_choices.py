"""Mappings in a profile mean the same as the section of a device in the settings file."""

from __future__ import annotations

from typing import Any

import pytest

from vixio.composition.choices import ProfileDefaults, Providers
from vixio.core.device import DeviceProfile
from vixio.core.errors import ConfigError
from vixio.settings import Settings

OPENAI = {"name": "openai", "api_key": "k"}


def profile(**parts: Any) -> DeviceProfile:  # noqa: ANN401 - as in a settings file
    return DeviceProfile(**parts)


@pytest.mark.parametrize(
    "section",
    [
        {"tts": {"name": "edge"}},
        {"tts": {"name": "espeak", "rate": 130}},
        {"tts": {"voice": "zh-CN-XiaoxiaoNeural"}},
        {"tts": OPENAI},
        {"tts": [OPENAI, {"name": "espeak"}]},
        {"agent": OPENAI},
        {"agent": {"name": "openai", "api_key": "k", "first_token_timeout": 2}},
        {"agent": {"model": "large"}},
        {"asr": {"language": "en"}},
        {"vad": {"name": "silero"}},
    ],
)
def test_a_mapping_equals_the_section_of_a_device(section: dict[str, Any]) -> None:
    general: dict[str, Any] = {
        "timeouts": {"agent_first": 3, "tts": 5},
        "agent": {**OPENAI, "model": "small"},
        "tts": {"name": "edge"},
    }
    in_file = Settings.model_validate({**general, "devices": {"a": section}}).devices["a"]
    defaults = ProfileDefaults(Settings.model_validate(general), Providers())
    completed = defaults.completed(profile(**section))
    for kind, expected in in_file.providers():
        assert getattr(completed, kind) == expected
        assert hash(getattr(completed, kind)) == hash(expected)


def test_a_mapping_as_in_the_settings_shares_the_servers_provider() -> None:
    raw = {"agent": OPENAI, "tts": {"name": "edge"}}
    defaults = ProfileDefaults(Settings.model_validate(raw), Providers())
    assert defaults.over(profile(**raw)) == defaults.over(DeviceProfile())


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"tts": {"name": "espek"}},
            "tts.name: there is no tts provider 'espek', did you mean 'espeak'?",
        ),
        ({"tts": {"rat": 1}}, "tts.rat: there is no such key, did you mean 'rate'?"),
        ({"agent": [OPENAI]}, "agent: write `name: fallback`"),
        ({"agent": {**OPENAI, "api_key": 5}}, "agent.api_key: expected text, found a secret"),
        (
            {"agent": {**OPENAI, "first_token_timeout": 99}},
            "agent: first_token_timeout (99 s) must be below timeouts.agent_first",
        ),
        ({"instructions": "Be {modo}."}, "instructions: there is no {modo}: did you mean {mood}?"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key(parts: dict[str, Any], message: str) -> None:
    defaults = ProfileDefaults(Settings(), Providers())
    with pytest.raises(ConfigError) as raised:
        defaults.over(profile(**parts))
    assert str(raised.value).startswith(f"profile: {message}")
    assert "\n" not in str(raised.value)


def test_defaults_replace_what_is_invalid_and_nothing_else() -> None:
    defaults = ProfileDefaults(Settings(), Providers())
    given = profile(
        name="Kitchen",
        instructions="Be {modo}.",
        tts={"rate": 130},
        agent={"name": "none"},
    )
    repaired = defaults.repaired(given)
    assert (repaired.name, repaired.instructions) == ("Kitchen", "")
    assert repaired.agent == defaults.choices.agent
    assert repaired.tts == defaults.over(profile(tts={"rate": 130})).tts
