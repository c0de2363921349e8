"""Typos are recognised where they are, and not in what is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.core.errors import ConfigError
from vixio.settings import load_settings
from vixio.settings.yaml_errors import find_typo


@pytest.mark.parametrize(
    "line",
    [
        "server:",
        "  port: 8100",
        "# 注意：port：8100",
        "  url: http://192.168.1.5:8000/v1",
        "    - http://192.168.1.5:8000/v1",
        "  aa:bb:cc:dd:ee:ff:",
        '  instructions: "Rule：be brief"',
        "  args: [--port=8100]",
        "    - -5",
        "---",
    ],
)
def test_what_is_right_is_none(line: str) -> None:
    assert find_typo([line], 1, 1) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("server:\n  port: 1\n\thttp_port: 2", ":3: there is a tab in column 1"),
        ("assistant:\n  place: Berlin\n  language：zh", ":3: the colon behind 'language'"),
        ("server:\n  port: 8100 # x\n\u200b  http_port: 1", ":3: there is an invisible character"),
        ("tools: {allow：[x]}", "full-width"),
        ("agent:\n  name：openai\n  model: x", ":2: the colon behind 'name'"),
        ("assistant:\n  wake_words: ［a］", ":2: the ［ in column 15 is a full-width sign"),
    ],
)
def test_it_is_found_where_it_is(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(path, {})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "agent:\n  api_key:hunter2",
        "agent:\n  api_key = hunter2",
        "agent：\n  api_key：hunter2",
        "agent:\n  name: openai\n  api_key: “hunter2”",
        "API_KEY=hunter2",
        "agent:\n  api_key: 'hunter2' hunter2",
        "agent:\n  api_key: @hunter2",
        "agent: {api_key： hunter2, x}",
    ],
)
def test_a_value_is_never_quoted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(path, {})
    quoted = str(caught.value).removeprefix(str(path))
    assert "hunter2" not in quoted


def test_numbers_are_what_they_look_like(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("server:\n  port: 010100\n  http_port: 0x1000\nassistant:\n  place: 1:30\n")
    settings = load_settings(path, {})
    assert settings.server.port == 10100
    assert settings.server.http_port == 0x1000
    assert settings.assistant.place == "1:30"
