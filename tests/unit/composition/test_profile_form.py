"""What a form for a profile offers."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import jsonschema
import pytest

from vixio.composition import profile_form as form
from vixio.composition.profile_form import MASK, PACKAGES, profile_form
from vixio.providers import registry
from vixio.settings import Settings
from vixio.settings.devices import DeviceSection

SECRET = "not-to-be-shown"


def test_the_schema_accepts_what_the_settings_accept() -> None:
    made = profile_form(Settings())
    json.dumps(made)
    schema = made["schema"]
    assert set(schema["properties"]) == set(DeviceSection.model_fields)
    for content in (
        {},
        {"language": "de", "wake_reply": ["Ja?", "Hm?"], "tools": {"deny": ["self.reboot"]}},
        {"wake_reply": {"hi esp": "Yes?", "*": ["Hm?"]}, "exit_phrases": ["ende"]},
        {"tts": {"name": "espeak", "voice": "de"}, "asr": [{"name": "pocketsphinx"}]},
        {"agent": {"model": "large"}},
        {"pronunciations": {"Vixio": "Vicksio"}, "corrections": {}},
        {"context": {"room": "http://a.example.org/", "diary": {"mcp": "a", "resource": "b:c"}}},
    ):
        jsonschema.validate(content, schema)
    mistakes: tuple[dict[str, Any], ...] = (
        {"langage": "de"},
        {"tts": {"name": "nonesuch"}},
        {"agent": []},
        {"asr": 5},
        {"corrections": {"weak": ""}},
    )
    for wrong in mistakes:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_defaults_are_as_they_are_written() -> None:
    written = {"pronunciations": {"Vixio": "Vicksio"}, "wake_reply": {"hi esp": ["Yes?"]}}
    defaults = profile_form(Settings.model_validate({"assistant": written}))["defaults"]
    assert written.items() <= defaults.items()
    assert defaults["corrections"] == {}


def test_every_provider_is_there_and_packages_are_of_known_ones() -> None:
    made = profile_form(Settings())["providers"]
    for kind, listed in made.items():
        assert [each["name"] for each in listed] == registry.names(kind)
        assert all(each["options"]["type"] == "object" for each in listed)
    assert set(PACKAGES) <= {(str(kind), name) for kind, name in registry.builtin_names()}


def test_what_is_not_installed_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "find_spec", lambda name: None)
    listed = {each["name"]: each for each in profile_form(Settings())["providers"]["asr"]}
    assert not listed["whisper"]["installed"]
    assert "whisper" in listed["whisper"]["remedy"]
    assert listed["pocketsphinx"]["installed"]
    assert listed["pocketsphinx"]["remedy"] == ""


def test_secrets_are_masked_and_marked() -> None:
    openai = {"name": "openai", "api_key": SECRET, "base_url": "http://127.0.0.1:1/v1"}
    settings = Settings.model_validate({"agent": {**openai, "model": "m"}, "tts": [openai] * 2})
    made = profile_form(settings)
    assert SECRET not in json.dumps(made)
    assert made["defaults"]["agent"]["api_key"] == MASK
    assert made["defaults"]["agent"]["model"] == "m"
    assert [each["api_key"] for each in made["defaults"]["tts"]] == [MASK] * 2
    (agent,) = (each for each in made["providers"]["agent"] if each["name"] == "openai")
    marked = {key for key, each in agent["options"]["properties"].items() if "writeOnly" in each}
    assert "api_key" in marked
    assert "max_tokens" not in marked


@pytest.mark.slow
def test_no_vendors_package_is_imported() -> None:
    code = (
        "import sys\n"
        "from vixio.composition.profile_form import profile_form\n"
        "from vixio.settings import Settings\n"
        "profile_form(Settings())\n"
        "heavy = {'torch', 'funasr', 'faster_whisper', 'sherpa_onnx', 'litellm', 'edge_tts', "
        "'agents', 'openai', 'onnxruntime', 'moonshine_voice', 'pocketsphinx'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
