"""All that is wrong with a profile's content, without the values of variables."""

from __future__ import annotations

from typing import Any

import pytest

from vixio.core.errors import ConfigError
from vixio.settings import Settings
from vixio.settings.profile import MAX_MISTAKES, profile_mistakes, stored_section

HIDDEN = "hidden value 42"
ENVIRONMENT = {"HIDDEN": HIDDEN, "TAG": "de"}


def found(content: dict[str, Any], **sections: Any) -> dict[str, str]:  # noqa: ANN401 - YAML
    settings = Settings.model_validate(sections)
    mistakes = profile_mistakes(settings, content, ENVIRONMENT)
    return {each.path: each.message for each in mistakes}


def test_nothing_is_wrong() -> None:
    content = {"language": "${TAG}", "user": "${HIDDEN}", "place": "${NOBODY:home}", "tts": None}
    assert found(content) == {}
    assert found({}) == {}


@pytest.mark.parametrize(
    "content",
    [
        {"language": "${HIDDEN}"},
        {"idle_timeout": "${HIDDEN}"},
        {"exit_phrases": ["bye", "${HIDDEN}" * 20]},
        {"tts": {"name": "${HIDDEN}"}},
        {"tts": {"name": "espeak", "speed": "${HIDDEN}"}},
        {"tts": "${HIDDEN}"},
        {"asr": [{"name": "pocketsphinx"}, {"name": "${HIDDEN}"}]},
        {"instructions": "{${HIDDEN}} {nonesuch}"},
        {"wake_reply": {"hi": {"${HIDDEN}": 1}}},
    ],
)
def test_the_value_of_a_variable_is_never_shown(content: dict[str, Any]) -> None:
    mistakes = found(content)
    assert mistakes
    assert HIDDEN not in str(mistakes)
    with pytest.raises(ConfigError) as raised:
        stored_section(Settings(), content, ENVIRONMENT)
    assert HIDDEN not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_each_place_is_named_once() -> None:
    mistakes = found(
        {
            "langage": "de",
            "language": "${UNSET}",
            "idle_timeout": -1,
            "tools": {"alow": [], "deny": ["", "x", ""]},
            "agent": {"temprature": 2},
        },
        agent={"name": "openai", "api_key": "k"},
    )
    assert set(mistakes) == {
        "langage",
        "language",
        "idle_timeout",
        "tools.alow",
        "tools.deny[0]",
        "tools.deny[2]",
        "agent.temprature",
    }
    assert "did you mean 'temperature'" in mistakes["agent.temprature"]
    assert "UNSET is not set" in mistakes["language"]


def test_what_depends_on_the_servers_settings_is_found() -> None:
    assert found({"tts": {"voice": "de"}}, tts=[{"name": "espeak"}] * 2) == {
        "tts": "expected a name, since tts is a list"
    }
    agent = {"name": "openai", "api_key": "k", "first_token_timeout": 60}
    assert "agent" in str(found({"agent": agent}, timeouts={"agent_first": 5}))


def test_there_is_an_end() -> None:
    assert len(found({f"key{number}": 1 for number in range(300)})) == MAX_MISTAKES
