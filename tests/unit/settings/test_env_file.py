"""The file `.env` beside the settings: how it is read, used by commands, and changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.cli.config import choose_config
from vixio.core.errors import ConfigError
from vixio.settings import load_settings
from vixio.settings.env_file import changed_env, read_env

WRITTEN = """
# a comment
OPENAI_API_KEY=sk-abc123
export HOME_TOKEN='with a $dollar and spaces'   # behind it another one
EMPTY=
QUOTED="a \\"quoted\\" word"
"""


def test_it_is_read_as_a_shell_reads_it(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(WRITTEN, encoding="utf-8")
    assert read_env(file) == {
        "OPENAI_API_KEY": "sk-abc123",
        "HOME_TOKEN": "with a $dollar and spaces",
        "EMPTY": "",
        "QUOTED": 'a "quoted" word',
    }


def test_there_need_be_no_file(tmp_path: Path) -> None:
    assert read_env(tmp_path / ".env") == {}
    (tmp_path / ".env").mkdir()  # as an environment of Python may be named
    assert read_env(tmp_path / ".env") == {}


@pytest.mark.parametrize(
    "line", ["KEY=sk-secret oops", "KEY='sk-secret", "sk-secret", "9=sk-secret"]
)
def test_a_mistake_is_one_line_without_the_secret(tmp_path: Path, line: str) -> None:
    file = tmp_path / ".env"
    file.write_text(f"A=1\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        read_env(file)
    assert str(raised.value).startswith(f"{file}:2: ")
    assert "secret" not in str(raised.value)


def test_commands_read_it_and_the_environment_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "vixio.yaml"
    settings.write_text("assistant: {place: '${A_PLACE}', user_name: '${A_NAME}'}\n", "utf-8")
    (tmp_path / ".env").write_text("A_PLACE=Berlin\nA_NAME=Ann\n", "utf-8")
    monkeypatch.setattr(os, "environ", {"A_NAME": "Ben"})
    chosen, _ = choose_config(settings)
    assistant = load_settings(chosen).assistant
    assert (assistant.place, assistant.user_name) == ("Berlin", "Ben")


def test_a_change_keeps_all_else(tmp_path: Path) -> None:
    text = changed_env(WRITTEN, {"OPENAI_API_KEY": "it's new", "MORE": "1"})
    assert "# a comment" in text
    file = tmp_path / ".env"
    file.write_text(text, "utf-8")
    assert read_env(file) == {
        "OPENAI_API_KEY": "it's new",
        "HOME_TOKEN": "with a $dollar and spaces",
        "EMPTY": "",
        "QUOTED": 'a "quoted" word',
        "MORE": "1",
    }
    assert changed_env(text, {"MORE": "1"}) == text


def test_a_shell_reads_what_is_written(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    value = "$(touch x) `y` \"'\\ #"
    file.write_text(changed_env("", {"KEY": value}), "utf-8")
    done = subprocess.run(
        ["sh", "-c", 'set -a; . ./.env; printf %s "$KEY"'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == value


@given(value=st.text(st.characters(min_codepoint=32, max_codepoint=0x2027)))
def test_every_printable_value_comes_back(
    tmp_path_factory: pytest.TempPathFactory, value: str
) -> None:
    value = "".join(value.splitlines())
    file = tmp_path_factory.mktemp("env") / ".env"
    file.write_text(changed_env("", {"KEY": value}), "utf-8")
    assert read_env(file) == {"KEY": value}
