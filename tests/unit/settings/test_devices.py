"""Mistakes in the section ``devices`` name the key below the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.core.errors import ConfigError
from vixio.settings import load_settings

MODEL = "agent:\n  name: openai\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # sections of devices
        (
            f"{MODEL}  api_key: k\ndevices:\n  AA-*:\n    agent: {{temprature: 2}}",
            ":6: devices.AA-*.agent.temprature: there is no such key, did you mean 'temperature'?",
        ),
        (
            "devices:\n  a:\n    tts: {name: espek}",
            ":3: devices.a.tts.name: there is no tts provider 'espek', did you mean 'espeak'?",
        ),
        (
            "devices:\n  a:\n    asr:\n    - name: pocketsphinx\n    - name: x",
            ":5: devices.a.asr[1].name: there is no asr provider 'x'",
        ),
        (
            "devices:\n  AA-BB-CC-DD-EE-FF: {}\n  aa:bb:cc:dd:ee:ff: {}",
            (
                ":3: devices.aa:bb:cc:dd:ee:ff: is the same device as 'AA-BB-CC-DD-EE-FF': "
                "keep one of them"
            ),
        ),
        (
            "tts: [{name: espeak}]\ndevices:\n  a: {tts: {voice: de}}",
            ":3: devices.a.tts: expected a name, since tts is a list",
        ),
        (
            "devices:\n  a:\n    language: 12",
            ":3: devices.a.language: expected a language tag such as en or zh-CN, found '12'",
        ),
        (
            "devices:\n  a:\n    instructions: It is {tiem}.",
            ":3: devices.a.instructions: there is no {tiem}: did you mean {time}?",
        ),
        (
            "devices:\n  a:\n    agent: {first_token_timeout: 25}",
            ":3: devices.a.agent: first_token_timeout (25 s) must be below timeouts.agent_first",
        ),
        ("devices:\n  a: 7", ":2: devices.a: expected a mapping (`key: value` lines), found 7"),
        # keys of earlier versions
        (
            "assistant:\n  devices: {}",
            (
                ":2: assistant.devices: there is no such key any more: it has moved to the "
                "section `devices`, with the same keys"
            ),
        ),
        (
            "tools:\n  devices: {}",
            ":2: tools.devices: there is no such key any more: it has moved to the section",
        ),
    ],
)
def test_one_line_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(path, {})
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("devices:\n  a:\n    agent: {name: openai, api_key: [hush]}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(path, {})
    assert str(caught.value).endswith("devices.a.agent.api_key: expected text, found a secret")


def test_a_device_without_keys_is_as_all_others(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("devices:\n  a:\n  b: {place: 12}\n", encoding="utf-8")
    devices = load_settings(path, {}).devices
    assert devices["a"].of_profile() == {}
    assert devices["b"].of_profile() == {"place": "12"}, "text stays text"
