"""What is written: only the chosen sections, with a backup, secrets apart, whole or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml

from vixio.cli.setup.settings_file import Present, composed, difference, write
from vixio.core.errors import ConfigError
from vixio.settings import load_settings
from vixio.settings.env_file import read_env

MINE = """\
# my settings, with care
server:
  port: 8100   # the other one is taken

# who speaks
assistant:
  place: Berlin
  language: de     # at home
  instructions: |
    Be brief.

asr:
- name: openai
  model: whisper-1

devices:
  "02:00:00:00:00:01": {name: Kitchen}
# the end
"""

SECTIONS = {
    "assistant": {"language": "en"},
    "asr": {"name": "pocketsphinx"},
    "agent": {"name": "phrasebook"},
    "tts": {"name": "espeak"},
}


def present(path: Path, text: str | None = MINE) -> Present:
    if text is not None:
        path.write_text(text, encoding="utf-8")
    return Present(path)


def test_a_new_file_has_what_was_chosen_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "vixio.yaml"
    text = composed(present(path, None), SECTIONS, {"asr": "commands"}, "Two\nlines")
    assert text.startswith("# Two\n# lines\n\nassistant:\n  language: en\n\nasr: ")
    assert "# commands\n  name: pocketsphinx\n" in text
    assert yaml.safe_load(text) == SECTIONS
    assert write(path, text, {}) is None
    assert load_settings(path).asr.name == "pocketsphinx"


def test_all_else_of_a_file_stays_as_it_is(tmp_path: Path) -> None:
    text = composed(present(tmp_path / "vixio.yaml"), SECTIONS, {"asr": "commands"}, "no header")
    assert yaml.safe_load(text) == {
        **yaml.safe_load(MINE),
        **SECTIONS,
        "assistant": {"place": "Berlin", "language": "en", "instructions": "Be brief.\n"},
    }
    lines = text.splitlines()
    kept = [line for line in MINE.splitlines() if "language" not in line and "openai" not in line]
    assert [line for line in kept if line not in lines] == ["asr:", "  model: whisper-1"]
    assert "  language: en     # at home" in lines
    assert text.startswith("# my settings, with care\nserver:\n")
    assert lines.index("# the end") > lines.index("# who speaks")
    assert "no header" not in text


def test_the_same_answers_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "vixio.yaml"
    first = composed(present(path), SECTIONS, {}, "")
    assert composed(present(path, first), SECTIONS, {"asr": "said otherwise"}, "") == first
    assert difference(first, first) == []


@pytest.mark.parametrize(
    "text",
    [
        "{server: {port: 8100}, asr: {name: openai}}\n",
        "assistant: {language: de, place: Berlin}\nserver: {port: 8100}\n",
        "asr: &it {name: openai}\ndevices: {'02:00:00:00:00:01': {asr: *it}}\nserver: {port: 81}\n",
        '"server":\n  port: 8100\nassistant:\n',
    ],
    ids=["flow", "flow section", "anchor", "quoted key"],
)
def test_other_forms_of_yaml_keep_their_content(tmp_path: Path, text: str) -> None:
    path = tmp_path / "vixio.yaml"
    before = yaml.safe_load(text)
    data = yaml.safe_load(composed(present(path, text), SECTIONS, {}, ""))
    assistant = {**(before.get("assistant") or {}), "language": "en"}
    assert data == {**before, **SECTIONS, "assistant": assistant}


@pytest.mark.parametrize("text", ["a: [\n", "- a list\n", "text\n"])
def test_a_file_that_is_no_settings_is_left_alone(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"vixio\.yaml: .*mend it, move it away"):
        present(tmp_path / "vixio.yaml", text)


def test_the_former_file_is_kept_and_secrets_stand_apart(tmp_path: Path) -> None:
    path = tmp_path / "vixio.yaml"
    path.write_text(MINE, encoding="utf-8")
    path.chmod(0o640)
    (tmp_path / ".env").write_text("# mine\nOTHER=1\nMY_KEY=old\n", encoding="utf-8")
    backup = write(path, "asr: {name: pocketsphinx}\n", {"MY_KEY": "sk-new"})
    assert backup == tmp_path / "vixio.yaml.bak"
    assert backup.read_text("utf-8") == MINE
    assert read_env(tmp_path / ".env") == {"OTHER": "1", "MY_KEY": "sk-new"}
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert write(path, "asr: {name: whisper}\n", {}) == tmp_path / "vixio.yaml.bak.2"
    assert backup.read_text("utf-8") == MINE
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        ".env",
        "vixio.yaml",
        "vixio.yaml.bak",
        "vixio.yaml.bak.2",
    ]


def test_a_folder_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("", "utf-8")
    with pytest.raises(ConfigError, match="cannot be written"):
        write(tmp_path / "taken" / "vixio.yaml", "a: 1\n", {})


def test_the_difference_shows_no_secret() -> None:
    old = "agent:\n  api_key: sk-secret-one\n  model: a\nheaders: {Authorization: Bearer secret}\n"
    new = "agent:\n  api_key: ${MY_KEY}\n  model: b\n"
    shown = difference(old, new)
    assert "-  api_key: ***" in shown
    assert "+  api_key: ${MY_KEY}" in shown
    assert "secret" not in "".join(shown)
