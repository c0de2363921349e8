"""The template, the ready files and the documents agree with the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_origin

import pytest
import yaml
from pydantic import BaseModel

from scripts import settings_template
from tests.unit.settings.test_settings import ROOT, load
from vixio.cli.scaffold import template
from vixio.composition.languages import gaps
from vixio.core.device import Device
from vixio.core.errors import ConfigError
from vixio.data.devices.profiles import SettingsProfiles
from vixio.providers import registry
from vixio.providers.downloads.catalogue import find, load_catalogue
from vixio.providers.entry import ProviderEntry
from vixio.providers.openai_agent.models import without_thinking
from vixio.providers.registry import ProviderKind
from vixio.settings import ServerSettings, Settings, load_settings
from vixio.settings.provider import ProviderSection
from vixio.settings.schema import fields, submodel

KEYS = dict.fromkeys(("OPENAI_API_KEY", "ZHIPUAI_API_KEY", "ARK_API_KEY", "DASHSCOPE_API_KEY"), "k")


def names_of(model: type[BaseModel], above: str = "") -> set[str]:
    """Return every key of the settings as a path; of a provider section only its name."""
    names: set[str] = set()
    for key, field in fields(model).items():
        inner = submodel(field.annotation)
        # Where the user names the keys the template has an empty mapping.
        optional = field.default is None  # a part that is not there until it is chosen
        if inner is None or optional or get_origin(field.annotation) in (dict, tuple):
            names.add(f"{above}{key}")
        elif issubclass(inner, ProviderSection):
            names.add(f"{above}{key}.name")
        else:
            names |= names_of(inner, f"{above}{key}.")
    return names


def keys_of(data: dict[str, Any], above: str = "") -> set[str]:
    names: set[str] = set()
    for key, value in data.items():
        nested = isinstance(value, dict) and value
        names |= keys_of(value, f"{above}{key}.") if nested else {f"{above}{key}"}
    return names


def test_the_template_is_the_default_and_names_every_key(tmp_path: Path) -> None:
    text = template("vixio.yaml")
    assert load(tmp_path, text) == Settings()
    assert keys_of(yaml.safe_load(text)) == names_of(Settings)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.name
)
def test_the_configurations_load(path: Path) -> None:
    settings = load_settings(path, {**KEYS, "LITELLM_MODEL": "a/b"})
    assert settings.server == ServerSettings()


def test_each_configuration_is_what_it_says() -> None:
    environment = {"OPENAI_API_KEY": "k", "LITELLM_MODEL": "a/b"}
    assert load_settings(ROOT / "config/offline.yaml", {}) == Settings()
    openai = load_settings(ROOT / "config/openai-compatible.yaml", environment)
    assert openai.agent.name == "openai"
    assert openai.agent.options.model_dump()["base_url"] == "https://api.openai.com/v1"
    speech = load_settings(ROOT / "config/openai-speech.yaml", environment)
    assert speech.vision is not None
    parts = (speech.asr, speech.agent, speech.tts, speech.vision)
    assert {part.name for part in parts} == {"openai"}
    assert {part.options.model_dump()["base_url"] for part in parts} == {
        "https://api.openai.com/v1"
    }
    funasr = load_settings(ROOT / "config/funasr-server.yaml", environment)
    assert (funasr.asr.name, funasr.agent.name) == ("funasr-server", "openai")
    assert funasr.asr.options.model_dump()["hotwords"] == {"小智": 20}
    local = load_settings(
        ROOT / "config/funasr-edge.yaml", {**environment, "FUNASR_DEVICE": "cuda:0"}
    )
    assert (local.asr.name, local.agent.name) == ("funasr", "openai")
    assert local.asr.options.model_dump()["model"] == "iic/SenseVoiceSmall"
    assert local.asr.options.model_dump()["device"] == "cuda:0"
    litellm = load_settings(ROOT / "config/litellm.yaml", environment)
    assert (litellm.agent.name, litellm.agent.options.model_dump()["model"]) == ("litellm", "a/b")
    two = load_settings(ROOT / "config/two-languages.yaml", environment)
    english, chinese = (
        SettingsProfiles(two)(Device(f"02:00:00:00:00:0{number}")) for number in (1, 2)
    )
    assert (english.language, chinese.language) == ("en", "zh-CN")
    assert (english.tts, english.agent, chinese.agent) == (None, None, None)
    assert two.devices["02:00:00:00:00:02"].tts is not None
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        load_settings(ROOT / "config/openai-compatible.yaml", {})
    natural = load_settings(ROOT / "config/natural.yaml", {})
    assert [(place, part.name) for place, part in natural.asr.parts()] == [
        (".commands", "pocketsphinx"),
        (".speech", "moonshine"),
    ]
    assert (natural.agent.name, natural.tts.name) == ("fallback", "piper")
    mandarin = load_settings(ROOT / "config/natural-zh.yaml", {})
    assert (mandarin.assistant.language, mandarin.asr.name) == ("zh-CN", "whisper")
    assert (mandarin.agent, mandarin.tts.name) == (natural.agent, "kokoro")
    assert mandarin.tts.options.model_dump()["voice"] == "zf_xiaoxiao"


@pytest.mark.parametrize(
    ("name", "asr", "tts", "sees"),
    [
        ("free-zh", ["funasr-server"], ["edge", "espeak"], "glm-4v-flash"),
        ("quick-zh", ["volcengine", "xunfei"], ["volcengine", "xunfei"], "doubao-seed-1-6-flash"),
        ("bailian", ["dashscope"], ["dashscope"], "qwen-vl-plus"),
        ("local-zh", ["funasr-server"], ["http", "espeak"], "qwen2.5vl:7b"),
    ],
)
def test_each_set_for_chinese_hears_speaks_and_sees(
    name: str, asr: list[str], tts: list[str], sees: str
) -> None:
    its = load_settings(ROOT / f"config/{name}.yaml", KEYS)
    assert its.assistant.language == "zh-CN"
    assert [part.name for _, part in its.asr.parts()] == asr
    assert [part.name for _, part in its.tts.parts()] == tts
    assert its.vision is not None
    eyes, model = (part.options.model_dump() for part in (its.vision, its.agent))
    assert eyes["model"].startswith(sees)
    # The user would wait for what a model thinks: it does not, by the host, or as Ollama is told.
    assert without_thinking(model["base_url"]) or model["reasoning_effort"] == "none"
    assert eyes["base_url"] == model["base_url"], "one key for both"
    assert not list(gaps(its)), "all of it knows Chinese"


def test_the_other_recogniser_of_the_chinese_configuration_can_be_had(tmp_path: Path) -> None:
    text = (ROOT / "config/natural-zh.yaml").read_text(encoding="utf-8")
    commented = ("# asr:", "#   name: sherpa-onnx", "#   folder: sense-voice")
    without = [line for line in text.splitlines() if line != "asr:" and "name: whisper" not in line]
    other = load(tmp_path, "\n".join(x[2:] if x in commented else x for x in without))
    assert other.asr.name == "sherpa-onnx"
    (command,) = (line for line in text.splitlines() if "vixio models get" in line)
    model = find(load_catalogue(), command.split()[-1])
    assert (model.runtime, "zh" in model.languages) == ("sherpa-onnx", True)
    assert str(other.asr.options.model_dump()["folder"]).endswith(model.name)


def test_the_local_configuration_needs_no_package_and_no_key() -> None:
    """Its options are checked where sherpa-onnx is not installed."""
    path = ROOT / "config/local-sherpa-ollama.yaml"
    local = load_settings(path, {"ASR_FOLDER": "asr", "TTS_FOLDER": "voice"})
    assert (local.asr.name, local.agent.name, local.tts.name) == (
        "sherpa-onnx",
        "openai",
        "sherpa-onnx",
    )
    assert local.asr.options.model_dump()["folder"] == Path("asr")
    assert local.tts.options.model_dump()["folder"] == Path("voice")
    assert "11434" in local.agent.options.model_dump()["base_url"]
    assert load_settings(path, {}).asr.name == "sherpa-onnx"


def document() -> str:
    return (ROOT / "docs/configuration.md").read_text(encoding="utf-8")


def test_the_document_shows_the_template() -> None:
    assert f"```yaml\n{template('vixio.yaml')}```" in document()


def test_the_template_has_every_key_that_can_differ_for_a_device() -> None:
    for path in settings_template.FILES:
        text = path.read_text("utf-8")
        assert text == settings_template.written(text), "run python scripts/settings_template.py"


BUILT_IN = [
    (kind, name)
    for kind in (ProviderKind.VAD, ProviderKind.ASR, ProviderKind.AGENT, ProviderKind.TTS)
    for name in registry.names(kind)
]


@pytest.mark.parametrize(("kind", "name"), BUILT_IN)
def test_the_document_names_every_option_and_its_default(kind: ProviderKind, name: str) -> None:
    sections = document().split("\n### ")
    (section,) = [text for text in sections if text.startswith(f"`{kind}`: `{name}`\n")]
    rows = {
        cells[1].strip().strip("`"): cells[2].strip().strip("`")
        for line in section.splitlines()
        if line.startswith("| `") and (cells := line.split("|"))
    }
    model = registry.resolve(kind, name).settings_model
    assert set(rows) == set(fields(model))
    for key, field in fields(model).items():
        if field.is_required():
            assert rows[key] == "required"
        else:
            default = field.get_default(call_default_factory=True)
            if isinstance(default, ProviderEntry):
                default = default.given()
            if isinstance(default, tuple):
                default = list(default)
            found = None if rows[key] in {"–", "null"} else yaml.safe_load(rows[key])
            assert found == default, f"{kind}.{key}"
