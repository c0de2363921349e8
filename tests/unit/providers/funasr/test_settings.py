"""Errors name what is missing, folders differ from ids of models, and hotwords are safe."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from pydantic import ValidationError

from vixio.core.errors import ProviderUnavailable
from vixio.core.tools.types import ToolDefinition
from vixio.providers.funasr.provider import FunASRProvider, hotwords
from vixio.providers.funasr.settings import FunASRSettings
from vixio.providers.registry import ProviderKind, resolve


def test_it_is_registered_and_its_name_alone_is_a_configuration() -> None:
    factory = resolve(ProviderKind.ASR, "funasr")
    assert factory.create is FunASRProvider
    worker = factory.settings_model().worker()
    assert worker.model == "iic/SenseVoiceSmall"
    assert 1 <= worker.threads <= 4


@pytest.mark.parametrize(
    ("there", "remedy"),
    [
        ((), "FunASR is missing: make.* NAME=funasr"),
        (("funasr",), "torch is missing.* NAME=funasr"),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], remedy: str
) -> None:
    def find_spec(name: str) -> ModuleSpec | None:
        return ModuleSpec(name, None) if name in there else None

    monkeypatch.setattr("vixio.providers.funasr.provider.find_spec", find_spec)
    with pytest.raises(ProviderUnavailable, match=remedy) as caught:
        FunASRProvider()
    assert "\n" not in str(caught.value)


def test_a_folder_is_given_absolute_and_an_id_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "paraformer-zh"  # also the name of a published model
    folder.mkdir()
    folder.joinpath("config.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert FunASRSettings(model="paraformer-zh").worker().model == str(folder)
    assert FunASRSettings(model="paraformer-zh-streaming").worker().model == (
        "paraformer-zh-streaming"
    )


def test_a_folder_that_is_missing_or_empty_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="no folder"):
        FunASRSettings(model=str(tmp_path / "nowhere")).worker()
    with pytest.raises(ProviderUnavailable, match=r"no model \(there is no config.yaml\)"):
        FunASRSettings(model=str(tmp_path)).worker()


@pytest.mark.parametrize(
    "wrong",
    [
        {"hub": "pypi"},
        {"chunk_size": [0, 10]},
        {"chunk_size": [0, 3, 5]},
        {"threads": 0},
        {"modell": "x"},
        {"max_batch": 0},
    ],
)
def test_a_wrong_option_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        FunASRSettings.model_validate(wrong)


def test_hotwords_are_the_configured_ones_and_the_tools() -> None:
    room = {"properties": {"room": {"type": "string", "enum": ["客厅", "living room", 3]}}}
    tools = [
        ToolDefinition("self.lamp.turn_on", "Turn on the lamp", room),
        ToolDefinition("self.get_device_status", ""),
    ]
    words = hotwords(("小智", "Home Assistant"), tools).split()
    assert words[:3] == ["小智", "Home", "Assistant"]
    assert {"lamp", "客厅", "living", "room"} <= set(words)
    assert "self" not in words
    assert hotwords((), ()) == ""


@pytest.mark.parametrize(
    "name", ["https://example.com/list.txt", "/etc/hosts.txt", "http", "../../secret.txt"]
)
def test_no_tool_makes_an_address_or_a_file_of_the_hotwords(name: str) -> None:
    odd = ToolDefinition(name, "", {"properties": {"a": {"enum": [name]}}})
    words = hotwords((), [odd])
    assert not words.startswith("http")
    assert not words.endswith(".txt")
    assert not set("/.:") & set(words)


def test_there_is_a_bound() -> None:
    names = [f"名{chr(0x4E00 + number)}" for number in range(300)]
    assert len(hotwords(names, [ToolDefinition("lamp.on", "")]).split()) == 100
