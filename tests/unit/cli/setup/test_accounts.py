"""Accounts of vendors: what is asked for in Chinese, tried at once, refused in a line, written."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.unit.cli.setup.scripted import ScriptedTerminal, ScriptedTrials, interview
from vixio.cli.setup.answers import Given
from vixio.cli.setup.choices import Choice
from vixio.cli.setup.terminal import BACK
from vixio.cli.setup.vendors import AGENTS, EVERY_EAR, EVERY_VOICE, VENDORS
from vixio.core.errors import ConfigError, ProviderError, ProviderUnavailable
from vixio.providers import registry
from vixio.settings import Settings

REST = ("短语库", "eSpeak", "不需要")


def refusal(reason: str) -> ProviderError:
    return ProviderUnavailable("dashscope", "Invalid API-key provided", reason=reason)


def test_in_chinese_the_recognisers_are_offered_with_their_size_and_what_they_need(
    tmp_path: Path,
) -> None:
    terminal = ScriptedTerminal("中文", "SenseVoice", *REST)
    interview(tmp_path / "vixio.yaml", terminal, ScriptedTrials())
    ears = terminal.said[terminal.said.index("要听懂什么？") + 1 :][:7]
    assert ["下载 230 MB" in ears[0], "450 MB" in ears[1], "中文效果一般" in ears[1]] == [True] * 3
    wanted = ("SenseVoice-small", "Whisper base", "FunASR", "豆包", "百炼", "讯飞", "下一题")
    assert [words in line for words, line in zip(wanted, ears, strict=True)] == [True] * 7
    assert all("密钥" in line for line in ears[3:6])


def test_in_english_they_are_no_clutter_but_can_be_named(tmp_path: Path) -> None:
    terminal = ScriptedTerminal("English", "commands only", "phrase book", "eSpeak", "no others")
    interview(tmp_path / "vixio.yaml", terminal, ScriptedTrials())
    assert not [each for each in terminal.said if "DashScope (Bailian)" in each]
    trials = ScriptedTrials()
    trials.verdicts = [True]
    given = Given(language="en", ears="dashscope", model="phrasebook", voice="espeak")
    environment = {"DASHSCOPE_API_KEY": "sk-1"}
    answers = interview(
        tmp_path / "v.yaml", ScriptedTerminal(), trials, given, environment, asking=False
    )
    assert answers.sections["asr"] == {"name": "dashscope", "api_key": "${DASHSCOPE_API_KEY}"}


def test_a_key_is_hidden_tried_at_once_and_stands_in_the_variable(tmp_path: Path) -> None:
    terminal = ScriptedTerminal("中文", "百炼", "sk-wrong", "sk-1", "短语库", "百炼", "", "不需要")
    trials = ScriptedTrials()
    trials.verdicts = [refusal("no_key"), True, True]
    answers = interview(tmp_path / "vixio.yaml", terminal, trials)
    assert answers.sections["asr"] == {"name": "dashscope", "api_key": "${DASHSCOPE_API_KEY}"}
    assert answers.sections["tts"] == answers.sections["asr"]
    assert answers.env == {"DASHSCOPE_API_KEY": "sk-1"}
    assert len(terminal.hidden) == 3
    assert "沿用 DASHSCOPE_API_KEY" in terminal.hidden[2]
    keys = [env["DASHSCOPE_API_KEY"] for _, _, env in trials.verified]
    assert keys == ["sk-wrong", "sk-1", "sk-1"]
    (line,) = [each for each in terminal.said if "Invalid API-key" in each]
    assert line.startswith("阿里云百炼（DashScope）：密钥无效（")
    assert VENDORS["dashscope"].page in line
    assert "\n" not in line
    assert not [each for each in terminal.said if "sk-" in each]


def test_an_older_account_of_volcengine_has_two_parts(tmp_path: Path) -> None:
    terminal = ScriptedTerminal("中文", "豆包", "", "7654", "token", *REST)
    trials = ScriptedTrials()
    trials.verdicts = [True]
    answers = interview(tmp_path / "vixio.yaml", terminal, trials)
    assert answers.env == {"VOLCENGINE_APP_ID": "7654", "VOLCENGINE_ACCESS_TOKEN": "token"}
    assert answers.sections["asr"] == {
        "name": "volcengine",
        "appid": "${VOLCENGINE_APP_ID}",
        "access_token": "${VOLCENGINE_ACCESS_TOKEN}",
    }
    assert len(terminal.hidden) == 2
    text = yaml.safe_dump(answers.sections)
    for name, value in answers.env.items():
        text = text.replace(f"${{{name}}}", f"'{value}'")
    Settings.model_validate(yaml.safe_load(text))


def test_one_goes_back_out_of_an_account_to_another_recogniser(tmp_path: Path) -> None:
    terminal = ScriptedTerminal("中文", "讯飞", "app", BACK, "Whisper", *REST)
    answers = interview(tmp_path / "vixio.yaml", terminal, ScriptedTrials())
    assert answers.sections["asr"] == {"name": "whisper"}
    assert answers.env == {}


def test_what_cannot_be_reached_may_be_taken_all_the_same(tmp_path: Path) -> None:
    terminal = ScriptedTerminal("中文", "FunASR", "ws://10.0.0.5:10095", True, *REST)
    trials = ScriptedTrials()
    trials.verdicts = [ProviderError("funasr-server", "no answer", reason="unreachable")]
    answers = interview(tmp_path / "vixio.yaml", terminal, trials)
    assert answers.sections["asr"] == {"name": "funasr-server", "url": "ws://10.0.0.5:10095"}
    assert not terminal.hidden


def test_a_certificate_of_funasrs_own_is_asked_about(tmp_path: Path) -> None:
    terminal = ScriptedTerminal("中文", "FunASR", "", True, *REST)
    trials = ScriptedTrials()
    trials.verdicts = [ProviderUnavailable("funasr-server", "set verify_tls: false"), False]
    answers = interview(tmp_path / "vixio.yaml", terminal, trials)
    url = "wss://127.0.0.1:10095"
    assert answers.sections["asr"] == {"name": "funasr-server", "url": url, "verify_tls": False}
    assert "FunASR 可以连接。" in terminal.said


def test_agents_of_dify_and_coze(tmp_path: Path) -> None:
    trials = ScriptedTrials()
    trials.verdicts = [True]
    terminal = ScriptedTerminal("中文", "Whisper", "扣子", "73", "pat-1", "eSpeak", "不需要")
    answers = interview(tmp_path / "vixio.yaml", terminal, trials)
    section = {"name": "coze", "bot_id": "73", "api_key": "${COZE_API_TOKEN}"}
    assert answers.sections["agent"] == section
    assert answers.env == {"COZE_API_TOKEN": "pat-1"}
    trials.verdicts = [True]
    given = Given(language="zh-CN", ears="whisper", model="dify", voice="espeak", key="app-1")
    path = tmp_path / "v.yaml"
    answers = interview(path, ScriptedTerminal(), trials, given, asking=False)
    url = "https://api.dify.ai/v1"
    section = {"name": "dify", "base_url": url, "api_key": "${DIFY_API_KEY}"}
    assert answers.sections["agent"] == section
    assert answers.env == {"DIFY_API_KEY": "app-1"}


def test_a_second_run_keeps_the_address_and_asks_for_the_key(tmp_path: Path) -> None:
    path = tmp_path / "vixio.yaml"
    url = "wss://dashscope-intl.aliyuncs.com/api-ws/v1/inference"
    section = {"name": "dashscope", "api_key": "${DASHSCOPE_API_KEY}", "url": url}
    path.write_text(yaml.safe_dump({"asr": section}), "utf-8")
    terminal, trials = ScriptedTerminal("中文", "百炼", "sk-2", *REST), ScriptedTrials()
    trials.verdicts = [None]
    answers = interview(path, terminal, trials)
    assert answers.sections["asr"] == section
    assert answers.env == {"DASHSCOPE_API_KEY": "sk-2"}
    assert [each for each in terminal.said if "不能免费测试" in each]


def test_without_a_terminal_a_missing_key_and_a_refused_one_are_one_line(tmp_path: Path) -> None:
    given = Given(language="zh", ears="xunfei", model="phrasebook", voice="espeak")
    path = tmp_path / "vixio.yaml"
    with pytest.raises(ConfigError, match=r"XFYUN_APP_ID, XFYUN_API_SECRET.*console\.xfyun\.cn"):
        interview(path, ScriptedTerminal(), ScriptedTrials(), given, asking=False)
    trials = ScriptedTrials()
    trials.verdicts = [refusal("quota")]
    names = ("XFYUN_APP_ID", "XFYUN_API_SECRET", "XFYUN_API_KEY")
    environment = dict.fromkeys(names, "x")
    with pytest.raises(ConfigError, match=r"额度已用完.*console\.xfyun\.cn"):
        interview(path, ScriptedTerminal(), trials, given, environment, asking=False)


@pytest.mark.parametrize(
    "choice", [*EVERY_EAR, *EVERY_VOICE, *AGENTS], ids=lambda choice: choice.key
)
def test_what_is_asked_for_are_options_of_the_provider(choice: Choice) -> None:
    if choice.name in VENDORS:
        options = registry.resolve(choice.kind, choice.name).settings_model.model_fields
        for each in sum(VENDORS[choice.name].ways, ()):
            assert each.option in options
