"""What was changed in the browser, below the settings file."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.core.errors import ConfigError
from vixio.settings import Settings, load_layered, load_settings
from vixio.settings.layer import FILE_NAME, LayerError
from vixio.settings.provider import AgentSection
from vixio.settings.sections import TimeoutSettings
from vixio.settings.shown import shown

ENVIRONMENT = {"KEY": "sk-from-the-environment", "ZONE": "nowhere/at-all"}

CLUSTER = "cluster: {url: 'nats://127.0.0.1', secret: 'a-secret-of-sixteen-bytes'}"


class Files:
    """A settings file and the data folder that it names."""

    def __init__(self, folder: Path) -> None:
        self.config, self.data = folder / "vixio.yaml", folder / "data"
        self.data.mkdir()
        self.layer = self.data / FILE_NAME
        self.write("")

    def write(self, text: str, layer: str = "") -> None:
        self.config.write_text(f"data: {{folder: '{self.data}'}}\n{text}")
        if layer:
            self.layer.write_text(layer)

    def load(self, **more: object) -> Settings:
        return load_layered(self.config, ENVIRONMENT, **more)  # type: ignore[arg-type]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_the_settings_file_wins_by_section_and_by_key(files: Files) -> None:
    files.write(
        "tts: {name: espeak, rate: 170}\nassistant: {language: de}\n"
        "mcp_servers: {home: {url: 'http://a.test/mcp'}}\nasr:\n",
        "tts: {name: piper}\nasr: {name: whisper}\n"
        "assistant: {language: fr, place: Lyon}\n"
        "mcp_servers: {home: {url: 'http://b.test/mcp'}, more: {url: 'http://c.test/mcp'}}\n",
    )
    found = files.load()
    assert (found.tts.name, found.asr.name) == ("espeak", "whisper")
    assert (found.assistant.language, found.assistant.place) == ("de", "Lyon")
    assert {name: each.url for name, each in found.mcp_servers.items()} == {
        "home": "http://a.test/mcp",
        "more": "http://c.test/mcp",
    }
    sources = shown(found).sources
    assert sources["assistant.place"] == sources["asr.name"] == "console"
    assert sources["mcp_servers.more.url"] == "console"
    assert sources["assistant.language"] == sources["tts.name"] == "file"
    assert found.origin.keys["assistant", "language"] == 3
    assert load_settings(files.config).asr.name == "pocketsphinx", "a program reads one file"


def test_devices_inherit_from_it(files: Files) -> None:
    files.write(
        "devices: {'02:00:00:00:00:01': {agent: {model: large}}}\n",
        "agent: {name: openai, model: small, api_key: '${KEY}'}\n",
    )
    (device,) = files.load().devices.values()
    assert device.agent is not None
    assert device.agent == AgentSection.model_validate(
        {"name": "openai", "model": "large", "api_key": ENVIRONMENT["KEY"]}
    ).within(TimeoutSettings())


@pytest.mark.parametrize("section", ["data: {database: none}", CLUSTER])
def test_where_nothing_is_kept_or_nodes_are_many_it_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, section: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "vixio").mkdir()
    (tmp_path / "vixio" / FILE_NAME).write_text("assistant: {place: Lyon}\n")
    assert load_layered(None).assistant.place == "Lyon"
    config = tmp_path / "vixio.yaml"
    config.write_text(f"{section}\n")
    assert load_layered(config, ENVIRONMENT).assistant.place == ""


@pytest.mark.parametrize(
    ("layer", "mistakes"),
    [
        ("tts: {name: piper", {"": "["}),
        ("output: {frame_ms: 20}", {"output": "only assistant"}),
        ("tools: {modules: [os]}", {"tools.modules": "only ready, media"}),
        ("- tts", {"": "expected sections"}),
        ("tts: {name: pipper}", {"tts.name": "piper"}),
        (
            "agent: {name: openai, model: m, temprature: 1}\nassistant: {history_turns: 0}",
            {"agent.temprature": "temperature", "assistant.history_turns": "from 1"},
        ),
        ("assistant: {time_zone: '${ZONE}'}", {"assistant.time_zone": "environment variable"}),
        ("assistant: {place: '${UNSET}'}", {"assistant.place": "UNSET is not set"}),
    ],
)
def test_a_mistake_in_it(files: Files, layer: str, mistakes: dict[str, str]) -> None:
    files.write("assistant: {user_name: Ann}\n", layer)
    with pytest.raises(LayerError, match=FILE_NAME) as caught:
        files.load()
    found = dict(caught.value.mistakes)
    assert set(found) == set(mistakes)
    for path, words in mistakes.items():
        assert words in found[path] or words == "["
        assert ENVIRONMENT["ZONE"] not in found[path]
    lines: list[str] = []
    assert files.load(warn=lines.append).assistant.user_name == "Ann"
    assert len(lines) == 1
    assert str(files.layer) in lines[0]
    assert "\n" not in lines[0]


def test_a_mistake_of_the_settings_file_comes_first(files: Files) -> None:
    files.write("tts: {name: pipper}\n", "assistant: {history_turns: 0}\n")
    with pytest.raises(ConfigError, match=r"vixio\.yaml:2"):
        files.load(warn=lambda _: None)


def test_another_file_in_its_place(files: Files, tmp_path: Path) -> None:
    files.write("", "assistant: {place: Lyon}\n")
    draft = tmp_path / "draft"
    draft.write_text("assistant: {place: Rome}\n")
    assert files.load(layer=draft).assistant.place == "Rome"
    draft.write_text("")
    assert files.load(layer=draft).assistant.place == ""
