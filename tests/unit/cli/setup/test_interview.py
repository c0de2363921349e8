"""The questions: what is offered and tried at once, what comes out, what a second run proposes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.setup.scripted import Answer, ScriptedTerminal, ScriptedTrials, interview
from vixio.cli.setup.answers import Answers, Given
from vixio.cli.setup.choices import EARS, VOICES
from vixio.cli.setup.interview import Interview
from vixio.cli.setup.services import OLLAMA, SERVICES, find
from vixio.cli.setup.settings_file import Present
from vixio.cli.setup.terminal import BACK
from vixio.core.errors import ConfigError
from vixio.settings import Settings

OPENAI = ""
DEEPSEEK = "https://api.deepseek.com/v1"
OFFLINE = Given(language="en", ears="commands", model="phrasebook", voice="espeak", tools=("none",))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vixio.yaml"


def valid(answers: Answers) -> Settings:
    """Return the settings of the answers as they are loaded, with the variables filled in."""
    text = yaml.safe_dump(answers.sections)
    for name, value in answers.env.items():
        text = text.replace(f"${{{name}}}", value)
    return Settings.model_validate(yaml.safe_load(text))


def test_five_answers_make_the_offline_set(path: Path) -> None:
    terminal = ScriptedTerminal("English", "commands only", "phrase book", "eSpeak", "no others")
    answers = interview(path, terminal, ScriptedTrials())
    settings = valid(answers)
    assert settings.assistant.language == "en"
    assert (settings.asr.name, settings.agent.name, settings.tts.name) == (
        "pocketsphinx",
        "phrasebook",
        "espeak",
    )
    assert answers.env == {}
    assert [each.extra for each in answers.needed] == [None, None]


NATURAL = {
    "en": ("combined", "phrasebook", "piper"),
    "zh-CN": ("sherpa-onnx", "phrasebook", "kokoro"),
    "de": ("whisper", "phrasebook", "edge"),
    "fr": ("whisper", "phrasebook", "edge"),
    "ja": ("sherpa-onnx", "phrasebook", "edge"),
}


@pytest.mark.parametrize("language", NATURAL)
def test_enter_takes_free_speech_and_a_natural_voice_without_an_account(
    path: Path, language: str
) -> None:
    terminal = ScriptedTerminal("", "", "", "", "")
    environment = {"LANG": f"{language.replace('-', '_')}.UTF-8"}
    answers = interview(path, terminal, ScriptedTrials(), environment=environment)
    settings = valid(answers)
    assert settings.assistant.language == language
    parts = settings.asr.name, settings.agent.name, settings.tts.name
    assert parts == NATURAL[language]
    assert answers.env == {}
    assert not terminal.hidden


@pytest.mark.parametrize("language", NATURAL)
def test_enter_on_a_slow_machine_needs_no_account_either(path: Path, language: str) -> None:
    terminal = ScriptedTerminal("", "", "", "", "")
    environment = {"LANG": f"{language.replace('-', '_')}.UTF-8"}
    answers = interview(path, terminal, ScriptedTrials(slowness=4.0), environment=environment)
    assert answers.env == {}
    assert not terminal.hidden
    assert [each.name for each in answers.needed if each.name == "service"] == []


def test_one_goes_back_to_what_was_asked(path: Path) -> None:
    """Out of a question for a key, to the one about the ears, which began it."""
    terminal = ScriptedTerminal(
        "English", "the recogniser of the service", "OpenAI", BACK, "SiliconFlow", BACK, BACK,
        "commands only", "phrase book", BACK, "phrase book", "eSpeak", "no others",
    )  # fmt: skip
    answers = interview(path, terminal, ScriptedTrials())
    assert answers.sections == {
        "assistant": {"language": "en"},
        "asr": {"name": "pocketsphinx"},
        "agent": {"name": "phrasebook"},
        "tts": {"name": "espeak"},
    }
    assert [each.name for each in answers.needed] == ["commands", "espeak"]
    assert answers.env == {}
    assert sum(each.startswith("This sets Vixio up") for each in terminal.said) == 1


def test_before_the_first_question_there_is_none(path: Path) -> None:
    terminal = ScriptedTerminal(BACK, "中文", BACK, "Français", "", "", "", "")
    answers = interview(path, terminal, ScriptedTrials())
    assert answers.sections["assistant"] == {"language": "fr"}


def test_the_last_question_is_asked_again(path: Path) -> None:
    terminal = ScriptedTerminal("English", "commands only", "phrase book", "eSpeak", "no others")
    asked = Interview(Given(), Present(path), terminal, ScriptedTrials(), {}, asking=True)
    asked.run()
    terminal.answers += [BACK, "Joe", "no others"]
    assert asked.may_return
    assert asked.again().sections["tts"] == {"name": "piper"}
    assert terminal.answers == []


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ([True, True], ["edge", "sense-voice"]),
        ([True, False], ["whisper", "edge"]),
        ([False], ["whisper", "kokoro"]),
    ],
)
def test_a_slow_set_is_named_and_another_one_proposed(
    path: Path, said: list[Answer], parts: list[str]
) -> None:
    terminal = ScriptedTerminal("中文", "Whisper", "短语库", "Kokoro", *said, "不需要")
    answers = interview(path, terminal, ScriptedTrials(slowness=2.0))
    assert [each.name for each in answers.needed] == parts
    valid(answers)
    (told,) = [each for each in terminal.said if each.startswith("在本机上")]
    assert re.search(r"约 [3-9]\.\d 秒", told)


@pytest.mark.parametrize(("language", "mute"), [("Deutsch", False), ("한국어", True)])
def test_a_language_without_a_phrase_book_is_told(path: Path, language: str, mute: bool) -> None:
    terminal = ScriptedTerminal(language, "", "", "", "")
    interview(path, terminal, ScriptedTrials(slowness=0.3))
    (told,) = [each for each in terminal.said if each.startswith("the phrase book")]
    assert ("can only apologise" in told) == mute


def test_a_fast_machine_is_asked_nothing_more(path: Path) -> None:
    terminal = ScriptedTerminal("中文", "Whisper", "短语库", "Kokoro", "不需要")
    answers = interview(path, terminal, ScriptedTrials(slowness=0.3))
    assert [each.name for each in answers.needed] == ["whisper", "kokoro"]


def test_what_was_measured_counts_more_than_the_estimate(path: Path) -> None:
    trials = ScriptedTrials(slowness=0.3)
    terminal = ScriptedTerminal("中文", "Whisper", "短语库", "Kokoro", "不需要")
    asked = Interview(Given(), Present(path), terminal, trials, {}, asking=True)
    answers = asked.run()
    assert not asked.faster(answers, {"asr": 0.4, "agent": 0.0, "tts": 0.6})
    terminal.answers += [True]
    assert asked.faster(answers, {"asr": 0.6, "agent": 0.0, "tts": 2.6})
    assert valid(answers).tts.name == "edge"
    # It is not proposed again what has been slow: Kokoro's estimate was far better.
    terminal.answers += [False]
    assert not asked.faster(answers, {"asr": 0.6, "agent": 0.0, "tts": 3.6})
    assert any("eSpeak" in each for each in terminal.said[-1:])


def test_a_service_that_hears_and_speaks_is_measured_twice(path: Path) -> None:
    trials = ScriptedTrials({(OPENAI, "sk-1"): None}, slowness=0.3)
    terminal = ScriptedTerminal(
        "English", "the recogniser of the service", "OpenAI", "sk-1", "", "the voice of OpenAI", ""
    )
    asked = Interview(Given(), Present(path), terminal, trials, {}, asking=True)
    answers = asked.run()
    assert not asked.faster(answers, {"asr": 0.1, "agent": 0.2, "tts": 1.1})


def test_options_take_the_place_of_questions(path: Path) -> None:
    asked = ScriptedTerminal("English", "commands only", "phrase book", "eSpeak", "no others")
    by_person = interview(path, asked, ScriptedTrials())
    given = interview(path, ScriptedTerminal(), ScriptedTrials(), OFFLINE, asking=False)
    assert given == by_person


def test_free_speech_and_a_service_whose_first_key_is_refused(path: Path) -> None:
    trials = ScriptedTrials({(DEEPSEEK, "sk-right"): ["deepseek-chat", "deepseek-reasoner"]})
    terminal = ScriptedTerminal(
        "English", "Moonshine", "DeepSeek", "sk-wrong", "sk-right", "", "hear Joe", True, "Joe",
        "no others",
    )  # fmt: skip
    answers = interview(path, terminal, trials)
    assert [key for url, key in trials.tried if url == DEEPSEEK] == ["sk-wrong", "sk-right"]
    assert any("refuses the key" in line for line in terminal.said)
    assert len(terminal.hidden) == 2
    assert answers.env == {"DEEPSEEK_API_KEY": "sk-right"}
    assert answers.sections["agent"]["api_key"] == "${DEEPSEEK_API_KEY}"
    assert "sk-" not in yaml.safe_dump(answers.sections) + "".join(terminal.said)
    assert [each.extra for each in answers.needed] == ["moonshine", "joe"]
    assert trials.installed == ["joe"]
    assert trials.spoken == [({"name": "piper"}, "en")]
    assert valid(answers).agent.name == "openai"


def test_one_service_for_ears_model_and_voice(path: Path) -> None:
    trials = ScriptedTrials({(OPENAI, "sk-1"): None})
    terminal = ScriptedTerminal(
        "another", "fr", "service", "OpenAI", "sk-1", "gpt-x", "voice of OpenAI", "no others"
    )
    answers = interview(path, terminal, trials)
    settings = valid(answers)
    assert [settings.asr.name, settings.agent.name, settings.tts.name] == ["openai"] * 3
    assert answers.sections["agent"]["model"] == "gpt-x"
    assert set(answers.env) == {"OPENAI_API_KEY"}
    assert not any("DeepSeek" in line for line in terminal.said)


def test_chinese_is_asked_in_chinese_and_gets_ears_for_it(path: Path) -> None:
    terminal = ScriptedTerminal("中文", "SenseVoice", "短语库", "Kokoro", "不需要")
    answers = interview(path, terminal, ScriptedTrials())
    assert answers.language == "zh-CN"
    assert [each.model for each in answers.needed] == ["sense-voice", ""]
    assert "要听懂什么？" in terminal.said
    assert not any("PocketSphinx" in line for line in terminal.said)
    valid(answers)


def test_a_model_on_this_machine_is_found_and_its_models_are_offered(path: Path) -> None:
    trials = ScriptedTrials({(OLLAMA.base_url, ""): ["llama3.2:3b", "qwen3:4b"]})
    terminal = ScriptedTerminal(
        "English", "commands only", "it runs here, with 2 models", "qwen3:4b", "eSpeak", "no others"
    )
    answers = interview(path, terminal, trials)
    assert answers.sections["agent"]["model"] == "qwen3:4b"
    assert answers.env == {}
    assert "api_key" not in answers.sections["agent"]


def test_any_other_server_by_its_address(path: Path) -> None:
    url = "http://127.0.0.1:9/v1"
    trials = ScriptedTrials({(url, ""): ["only-one"]})
    terminal = ScriptedTerminal(
        "English", "commands", "another server", "nonsense", url, "", "", "eSpeak", "no others"
    )
    answers = interview(path, terminal, trials)
    assert answers.sections["agent"] == {"name": "openai", "base_url": url, "model": "only-one"}


def test_home_assistant_is_tried_in_both_ways_and_its_token_kept_apart(path: Path) -> None:
    home = "http://home.local:8123"
    trials = ScriptedTrials(servers={f"{home}/mcp_server/sse": 23, "npx": 4})
    terminal = ScriptedTerminal(
        "English", "commands only", "phrase book", "eSpeak",
        "Home Assistant", "http://wrong.local", "t0ken",
        "Home Assistant", home, "t0ken",
        "an MCP server", "npx -y '@acme/weather ${X}' --fast", "no further",
    )  # fmt: skip
    answers = interview(path, terminal, trials)
    assert answers.sections["mcp_servers"]["home"] == {
        "url": f"{home}/mcp_server/sse",
        "headers": {"Authorization": "Bearer ${HOME_ASSISTANT_TOKEN}"},
    }
    (other,) = [name for name in answers.sections["mcp_servers"] if name != "home"]
    assert answers.sections["mcp_servers"][other]["args"] == ["-y", "@acme/weather $${X}", "--fast"]
    assert answers.env == {"HOME_ASSISTANT_TOKEN": "t0ken"}
    assert "home has 23 tools." in terminal.said
    assert any(line.startswith("home-assistant does not work: ") for line in terminal.said)
    assert any("phrase book cannot use these tools" in line for line in terminal.said)
    valid(answers)


def test_ready_tools_are_tried_and_leave_the_list(path: Path) -> None:
    terminal = ScriptedTerminal(
        "English", "commands only", "phrase book", "eSpeak",
        "the weather", "Berlin",
        "news",
        "a calculator",
        "your calendar", "https://down.example/a.ics",
        "your calendar", "https://cal.example/a.ics",
        "web search", "http://search.local:8080",
        "no further",
    )  # fmt: skip
    trials = ScriptedTrials()
    answers = interview(path, terminal, trials)
    assert answers.sections["tools"] == {
        "ready": [
            {"weather": {"place": "Berlin"}},
            "news",
            "calculator",
            {"calendar": {"addresses": ["${CALENDAR_ADDRESS}"]}},
            {"search": {"service": "searxng", "base_url": "http://search.local:8080"}},
        ]
    }
    assert answers.env == {"CALENDAR_ADDRESS": "https://cal.example/a.ics"}
    assert "weather works: weather 5 ms." in terminal.said
    assert "calculator is on." in terminal.said
    assert "calendar does not work: calendar: no answer in time" in terminal.said
    assert not any("phrase book cannot use these tools" in line for line in terminal.said)
    ready = valid(answers).tools.ready
    assert ready is not None
    assert ready.weather is not None


def test_ready_tools_by_option_beside_those_that_are_there(path: Path) -> None:
    path.write_text(
        "tools: {deny: [self.reboot], ready: [news, {weather: {place: Ulm}}]}\n", "utf-8"
    )
    given = replace(OFFLINE, tools=("weather=Berlin", "search", "dates"))
    environment = {"TAVILY_API_KEY": "k"}
    terminal = ScriptedTerminal()
    answers = interview(path, terminal, ScriptedTrials(), given, environment, asking=False)
    assert answers.sections["tools"] == {
        "deny": ["self.reboot"],
        "ready": ["news", {"weather": {"place": "Berlin"}}, "search", "dates"],
    }
    path.write_text("tools: {deny: [a]}\n", "utf-8")
    answers = interview(path, terminal, ScriptedTrials(), OFFLINE, asking=False)
    assert "tools" not in answers.sections


def test_a_second_run_proposes_what_is_there(path: Path) -> None:
    path.write_text(
        "assistant: {language: en-GB}\n"
        "asr: {name: funasr-server, url: 'ws://127.0.0.1:1'}\n"
        "agent: {name: openai, base_url: 'https://api.deepseek.com/v1', model: mine, "
        "api_key: '${DEEPSEEK_API_KEY}', temperature: 0.3}\n"
        "tts: [{name: edge}, {name: espeak}]\n"
        "mcp_servers: {files: {command: npx}}\n",
        encoding="utf-8",
    )
    (path.parent / ".env").write_text("DEEPSEEK_API_KEY=sk-kept\n", "utf-8")
    trials = ScriptedTrials({(DEEPSEEK, "sk-kept"): None})
    for asking, pressed in ((True, [""] * 7), (False, [])):
        answers = interview(path, ScriptedTerminal(*pressed), trials, asking=asking)
        before = yaml.safe_load(path.read_text("utf-8"))
        assert answers.sections == before
        assert answers.env == {"DEEPSEEK_API_KEY": "sk-kept"}


def test_a_model_that_is_not_offered_here_can_stay(path: Path) -> None:
    path.write_text("agent: {name: litellm, model: a/b}\nasr: {name: pocketsphinx}\n", "utf-8")
    terminal = ScriptedTerminal("English", "", "", "eSpeak", "no others")
    answers = interview(path, terminal, ScriptedTrials())
    assert answers.sections["agent"] == {"name": "litellm", "model": "a/b"}
    assert answers.sections["asr"] == {"name": "pocketsphinx"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Given(language="english"), "--language: expected a tag"),
        (Given(language="zh", ears="commands"), "--ears: 'commands' does not fit here"),
        (Given(language="en", ears="whistle"), "--ears: there is no 'whistle'"),
        (Given(language="en", ears="service", model="deepseek"), "--ears service: DeepSeek"),
        (Given(language="en", model="gpt"), "--model: there is no 'gpt'; known: phrasebook"),
        (Given(language="de", voice="joe"), "--voice: 'joe' does not fit here; for de: "),
        (Given(language="en", tools=("lamp",)), "--tools: expected none"),
        (Given(language="en", tools=("dates=x",)), "--tools dates: it takes no value"),
        (Given(language="en", tools=("calendar",)), "--tools calendar=URL: give the address"),
        (
            Given(language="en", tools=("home-assistant=http://h",)),
            "--tools home-assistant: the",
        ),
    ],
)
def test_an_option_that_cannot_be_is_one_line(path: Path, given: Given, told: str) -> None:
    trials = ScriptedTrials({(DEEPSEEK, ""): None})
    with pytest.raises(ConfigError) as raised:
        interview(path, ScriptedTerminal(), trials, given, asking=False)
    assert str(raised.value).startswith(told)
    assert "\n" not in str(raised.value)


def test_a_refused_key_without_a_person_ends_it(path: Path) -> None:
    trials = ScriptedTrials({(DEEPSEEK, "sk-right"): None})
    given = Given(language="en", model="deepseek", key="sk-wrong")
    with pytest.raises(ConfigError, match=r"DeepSeek: .*refused") as raised:
        interview(path, ScriptedTerminal(), trials, given, asking=False)
    assert "sk-wrong" not in str(raised.value)


def test_the_tables_make_valid_settings() -> None:
    for service in SERVICES:
        assert find(service.name) is service
        sections = {
            "agent": {**service.connection(), "model": service.model, **service.options},
            "asr": service.asr and {**service.connection(), **service.asr},
            "tts": service.tts and {**service.connection(), **service.tts},
        }
        Settings.model_validate(
            {kind: {"name": "openai", **each} for kind, each in sections.items() if each}
        )
    for kind, choices in (("asr", EARS), ("tts", VOICES)):
        for choice in choices:
            assert bool(choice.extra) == bool(choice.module)
            if choice.section is not None:
                Settings.model_validate({kind: choice.section})
