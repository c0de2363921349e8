"""The settings: defaults, files, variables, and the values that each part of the server gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_origin

import pytest
import yaml
from pydantic import BaseModel

from vixio.cli.scaffold import template
from vixio.composition.ports import xiaozhi_settings
from vixio.core.audio import AudioFormat
from vixio.core.device import Device
from vixio.core.errors import ConfigError
from vixio.core.greetings import WakeGreetings
from vixio.core.session.settings import SessionSettings
from vixio.core.timeouts import Timeouts
from vixio.core.turns.interruption import CutAtVoice, PauseAtVoice
from vixio.devices.profiles import SettingsProfiles
from vixio.models.catalogue import find, load_catalogue
from vixio.providers import registry
from vixio.providers.entry import ProviderEntry
from vixio.providers.registry import ProviderKind
from vixio.settings import ServerSettings, Settings, load_settings, override
from vixio.settings.provider import ProviderSection
from vixio.settings.schema import fields, submodel
from vixio.stations.turn_detector import TurnSettings
from vixio.stations.vad import VADSettings

ROOT = Path(__file__).resolve().parents[3]


def write(directory: Path, text: str) -> Path:
    path = directory / "vixio.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def load(directory: Path, text: str, **environment: str) -> Settings:
    return load_settings(write(directory, text), environment)


def test_the_default_names_the_offline_providers() -> None:
    settings = Settings()
    named = [settings.vad.name, settings.asr.name, settings.agent.name, settings.tts.name]
    assert named == ["silero", "pocketsphinx", "phrasebook", "espeak"]
    assert load_settings(None) == settings


def test_the_defaults_are_those_of_the_parts() -> None:
    settings = Settings()
    assert settings.session_settings() == SessionSettings(
        filler_after=2.0, max_reply=300.0
    )  # off where the engine is another
    assert settings.vad_settings() == VADSettings()
    assert settings.turn_settings() == TurnSettings()
    assert settings.interruption() is CutAtVoice
    assert settings.time_limits() == Timeouts()
    assert settings.audio_format() == AudioFormat(24_000, 60)


def test_every_key_reaches_its_part(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        assistant: {language: zh, wake_reply: 在}
        listening: {threshold: 0.6, exit_threshold: 0.2, min_speech_ms: 11, min_pause_ms: 12,
          end_silence_ms: 700, pre_roll_ms: 13, max_utterance_ms: 9000, jitter_ms: 14,
          stall_ms: 1500, interruption: pause}
        output: {sample_rate: 16000, frame_ms: 20, head_start_ms: 120, opus_application: voip,
          opus_complexity: 4, opus_bitrate: 17000}
        timeouts: {turn: 1, asr: 2, agent_first: 3, agent_next: 4, tts: 5, vad: 6}
        """,
    )
    session = settings.session_settings()
    assert (session.language, session.wake_reply) == ("zh", "在")
    assert (session.timeouts.turn, session.pacer.head_start_ms) == (1, 120)
    assert settings.vad_settings() == VADSettings(0.6, 0.2, 11, 12, timeout=6)
    assert settings.turn_settings() == TurnSettings(700, 13, 9000, 14, 1500)
    assert settings.interruption() is PauseAtVoice
    assert settings.time_limits() == Timeouts(
        turn=1, asr=2, asr_feed=2, agent_first=3, agent_next=4, tts=5, vad=6
    )
    assert settings.audio_format() == AudioFormat(16_000, 20)
    opus = xiaozhi_settings(settings, None, share_port=False)
    assert (opus.opus_application, opus.opus_complexity, opus.opus_bitrate) == ("voip", 4, 17_000)


def test_options_stand_beside_the_name(tmp_path: Path) -> None:
    settings = load(tmp_path, "vad: {name: silero, gather_ms: 4}\ntts: {rate: 120}\n")
    assert settings.vad.options.model_dump()["gather_ms"] == 4
    assert settings.tts.name == "espeak"
    assert settings.tts.options.model_dump()["rate"] == 120


def test_a_section_makes_its_provider(tmp_path: Path) -> None:
    settings = load(tmp_path, "agent: {name: openai, api_key: k, model: m}")
    assert settings.vad.create().name == "silero"
    assert settings.tts.create().name == "espeak"
    assert settings.agent.create().name == "openai"


def test_the_agent_gives_up_before_the_server_does(tmp_path: Path) -> None:
    def limits(text: str) -> tuple[float, float, float]:
        options = load(tmp_path, text).agent.options.model_dump()
        return (
            options["first_token_timeout"],
            options["stall_timeout"],
            options["turn_timeout"],
        )

    model = "agent: {name: openai, api_key: k}\n"
    assert limits(model) == (15, 15, 45)
    assert limits(f"{model}timeouts: {{agent_first: 10, agent_next: 10, turn: 30}}") == (8, 8, 24)
    assert limits("agent: {name: openai, api_key: k, first_token_timeout: 19}") == (19, 15, 45)
    fallback = "agent: {name: fallback, models: [{name: phrasebook}]}\ntimeouts: {agent_first: 5}"
    assert load(tmp_path, fallback).agent.options.model_dump()["first_token_timeout"] == 4


def test_a_fallback_list_that_has_no_time_for_its_models(tmp_path: Path) -> None:
    text = """
        timeouts: {agent_first: 10}
        agent: {name: fallback, models: [{name: phrasebook, first_token_timeout: 9}]}
        """
    with pytest.raises(ConfigError, match=r"first_token_timeout \(8 s\) is for all models"):
        load(tmp_path, text)


def test_the_former_name_of_the_fallback_agent(tmp_path: Path) -> None:
    models = "models: [{name: phrasebook}]"
    former = load(tmp_path, f"agent: {{name: chain, {models}}}")
    assert former == load(tmp_path, f"agent: {{name: fallback, {models}}}")
    assert former.agent.name == "fallback"
    with pytest.raises(ConfigError, match=r"retrys: there is no such key"):
        load(tmp_path, "agent: {name: chain, models: [], retrys: 1}")


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().server.port = 1


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "server:\nlistening:\n", "\ufeff"])
def test_what_is_left_out_is_the_default(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text) == Settings()


# ── variables ────────────────────────────────────────────────────────────────────────────────


def variable(directory: Path, text: str, **environment: str) -> Any:  # noqa: ANN401 - any YAML
    """Return the value of ``text`` in an option that takes any type."""
    head = "agent:\n  name: openai\n  api_key: k\n  extra_body:\n    x: "
    settings = load(directory, f"{head}{text}\n", **environment)
    return settings.agent.options.model_dump()["extra_body"]["x"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}", "words"),
        ("'${A}'", "words"),
        ("${N}", 17),
        ("${N:5}", 17),
        ("'${N}'", "17"),
        ("${B}", True),
        ("${F}", 0.5),
        ("${MISSING:8000}", 8000),
        ("${MISSING:no}", False),
        ("${MISSING:}", None),
        ("'${MISSING:}'", ""),
        ("${EMPTY:fallback}", "fallback"),
        ("${MISSING:http://localhost:80/v1}", "http://localhost:80/v1"),
        ("pre-${A}-${N}-post", "pre-words-17-post"),
        ("$${A}", "${A}"),
        ("'$${A} ${A}'", "${A} words"),
        ("$A and $5", "$A and $5"),
        ("${TRICKY}", "a: b # c"),
        ("${DATE}", "2024-13-45"),
        ("${EQUALS}", "="),
        ("${NESTED}", "${A}"),
    ],
)
def test_variables_are_expanded(tmp_path: Path, text: str, value: object) -> None:
    found = variable(
        tmp_path,
        text,
        A="words",
        N="17",
        B="true",
        F="0.5",
        EMPTY="",
        TRICKY="a: b # c",
        DATE="2024-13-45",
        EQUALS="=",
        NESTED="${A}",
    )
    assert found == value
    assert type(found) is type(value)


def test_variables_in_lists_and_blocks_of_text(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        'assistant:\n  wake_words: [hi, "${W}"]\n  instructions: |\n    You are ${W}.\n',
        W="Ada",
    )
    assert settings.assistant.wake_words == ("hi", "Ada")
    assert settings.assistant.instructions == "You are Ada.\n"


@pytest.mark.parametrize(
    "secret", ["01234567890123456789", "1e5000000000000000000", "0x" + "f" * 20]
)
def test_text_that_looks_like_a_number_stays_text(tmp_path: Path, secret: str) -> None:
    for text, environment in (("${S}", {"S": secret}), (secret, {})):
        settings = load(
            tmp_path, f"server:\n  auth:\n    enabled: true\n    secret: {text}\n", **environment
        )
        assert settings.server.auth.secret.get_secret_value() == secret


def test_a_path_may_look_like_a_number(tmp_path: Path) -> None:
    settings = load(tmp_path, "asr: {model: 2024}")
    assert settings.asr.options.model_dump()["model"] == Path("2024")


def test_a_country_that_yaml_takes_for_a_no(tmp_path: Path) -> None:
    assert load(tmp_path, "assistant: {language: no}").assistant.language == "no"


def test_numbers_may_come_quoted(tmp_path: Path) -> None:
    settings = load(
        tmp_path, 'server: {port: "${P}"}\noutput: {sample_rate: "${R}"}\n', P="81", R="16000"
    )
    assert (settings.server.port, settings.output.sample_rate) == (81, 16_000)


def test_merge_keys_and_aliases(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "timeouts: &t {asr: 3}\nlistening: {jitter_ms: &n 77, stall_ms: 500}\n"
        "server: {max_connections: *n}\n",
    )
    assert (settings.timeouts.asr, settings.server.max_connections) == (3, 77)


# ── overrides ────────────────────────────────────────────────────────────────────────────────


def test_the_command_line_wins(tmp_path: Path) -> None:
    settings = load(tmp_path, "server: {port: 1234, max_connections: 5}\nlogging: {json: true}")
    changed = override(settings, host="127.0.0.1", port=0, http_port=0, log_level="debug")
    assert changed.server == ServerSettings(
        host="127.0.0.1", port=0, http_port=0, max_connections=5
    )
    assert (changed.logging.level, changed.logging.as_json) == ("DEBUG", True)
    assert changed.listening == settings.listening
    assert override(settings) == settings


def test_an_override_is_checked() -> None:
    with pytest.raises(ConfigError, match=r"^command line: .*port and http_port must differ"):
        override(Settings(), port=8003)


# ── the files that come with it ──────────────────────────────────────────────────────────────


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
    settings = load_settings(path, {"OPENAI_API_KEY": "k", "LITELLM_MODEL": "a/b"})
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
            found = None if rows[key] in {"–", "null"} else yaml.safe_load(rows[key])
            assert found == default, f"{kind}.{key}"


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        ("Yes", "Yes"),
        ("3", "3"),
        ("[Yes, No]", WakeGreetings.of(["Yes", "No"])),
        ("{hi esp: On, '*': [3, Ja]}", WakeGreetings.of({"hi esp": "On", "*": ["3", "Ja"]})),
    ],
)
def test_words_for_a_greeting_stay_text(tmp_path: Path, written: str, texts: object) -> None:
    path = tmp_path / "vixio.yaml"
    path.write_text(f"assistant: {{wake_reply: {written}}}", encoding="utf-8")
    assert Settings.load(path).assistant.wake_reply == texts
