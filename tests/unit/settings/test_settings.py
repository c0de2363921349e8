"""The settings: defaults, files, variables, and the values that each part of the server gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vixio.composition.ports import xiaozhi_settings
from vixio.core.audio import AudioFormat
from vixio.core.errors import ConfigError
from vixio.core.greetings import WakeGreetings
from vixio.core.session.settings import SessionSettings
from vixio.core.timeouts import Timeouts
from vixio.core.turns.interruption import ByRecogniser, PauseAtVoice
from vixio.settings import ServerSettings, Settings, load_settings, override
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
    assert settings.interruption() is ByRecogniser
    assert settings.time_limits() == Timeouts()
    assert settings.audio_format() == AudioFormat(24_000, 60)


def test_every_key_reaches_its_part(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        assistant: {language: zh, wake_reply: 在}
        listening: {threshold: 0.6, exit_threshold: 0.2, min_speech_ms: 11, min_pause_ms: 12,
          background_db: 6, end_silence_ms: 700, pre_roll_ms: 13, max_utterance_ms: 9000,
          jitter_ms: 14, stall_ms: 1500, think_ms: 150, interruption: pause}
        output: {sample_rate: 16000, frame_ms: 20, head_start_ms: 120, opus_application: voip,
          opus_complexity: 4, opus_bitrate: 17000}
        timeouts: {turn: 1, asr: 2, agent_first: 3, agent_next: 4, tts: 5, vad: 6}
        """,
    )
    session = settings.session_settings()
    assert (session.language, session.wake_reply) == ("zh", "在")
    assert (session.timeouts.turn, session.pacer.head_start_ms) == (1, 120)
    assert settings.vad_settings() == VADSettings(0.6, 0.2, 11, 12, 6, timeout=6)
    assert settings.turn_settings() == TurnSettings(700, 13, 9000, 14, 1500, 150)
    assert settings.interruption() is PauseAtVoice
    assert settings.time_limits() == Timeouts(
        turn=1, asr=2, asr_feed=2, agent_first=3, agent_next=4, tts=5, vad=6
    )
    assert settings.audio_format() == AudioFormat(16_000, 20)
    opus = xiaozhi_settings(settings, None, None, share_port=False)
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
