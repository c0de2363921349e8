"""Names of installed models in the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.providers.funasr.settings import FunASRSettings
from vixio.providers.model_path import located, located_voice, models_folder
from vixio.providers.piper.provider import PiperSettings
from vixio.providers.sherpa_onnx.asr_settings import SherpaASRSettings
from vixio.providers.sherpa_onnx.tts import SherpaTTSSettings


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installed models, and another folder to work in."""
    folder = tmp_path / "models"
    for name in ("a-model", "a-voice/en.onnx", "two/a.onnx", "two/b.onnx"):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("") if place.suffix else place.mkdir()
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("VIXIO_MODELS", str(folder))
    return folder


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"VIXIO_MODELS": "/srv/models", "XDG_DATA_HOME": "/data"}, "/srv/models"),
        ({"VIXIO_MODELS": "", "XDG_DATA_HOME": "/data"}, "/data/vixio/models"),
        ({"XDG_DATA_HOME": "data"}, "~/.local/share/vixio/models"),
        ({}, "~/.local/share/vixio/models"),
    ],
)
def test_where_models_lie(environment: dict[str, str], folder: str) -> None:
    assert models_folder(environment) == Path(folder).expanduser()


def test_a_name_is_an_installed_model(models: Path) -> None:
    assert located(Path("a-model")) == models / "a-model"


@pytest.mark.parametrize("path", ["missing", "./sub/a-model", "/srv/a-model", "~", "..", "."])
def test_any_other_path_is_itself(path: str) -> None:
    assert located(Path(path)) == Path(path)
    assert located_voice(Path(path)) == Path(path)


def test_what_lies_here_goes_first() -> None:
    Path("a-model").mkdir()
    assert located(Path("a-model")) == Path("a-model")


def test_a_voice_is_its_one_model(models: Path) -> None:
    assert located_voice(Path("a-voice")) == models / "a-voice" / "en.onnx"
    assert located_voice(Path("two")) == Path("two")


def test_the_settings_of_each_provider(models: Path) -> None:
    place = models / "a-model"
    assert SherpaASRSettings(folder=Path("a-model")).folder == place
    assert SherpaTTSSettings(folder=Path("a-model")).folder == place
    assert PiperSettings(model=Path("a-voice")).model == models / "a-voice" / "en.onnx"
    (place / "config.yaml").write_text("")
    assert FunASRSettings(model="a-model").worker().model == str(place.resolve())
    assert FunASRSettings(model="paraformer-zh").worker().model == "paraformer-zh"
