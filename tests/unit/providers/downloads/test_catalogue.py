"""The catalogue is complete, and what it installs is what the providers take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vixio.providers.downloads.catalogue import Model, find, load_catalogue
from vixio.providers.downloads.errors import ModelError
from vixio.providers.sherpa_onnx.asr_kinds import KINDS
from vixio.providers.sherpa_onnx.folder import ModelFolder
from vixio.settings import load_settings

CATALOGUE = load_catalogue()

RECOGNISERS = {
    "sense-voice": "sense-voice",
    "zipformer-zh-en": "streaming-transducer",
    "paraformer-zh-en-streaming": "streaming-paraformer",
    "paraformer-zh": "paraformer",
    "paraformer-zh-small": "paraformer",
    "whisper-tiny": "whisper",
    "whisper-base": "whisper",
    "moonshine-tiny-en": "moonshine",
    "moonshine-base-en": "moonshine",
    "parakeet-v3": "nemo-transducer",
}
"""The kind that each is, of those that the provider loads."""

SMALL_VOICES = {"kokoro": "voices.bin", "melo-zh-en": "lexicon.txt"}


def of(runtime: str, kind: str) -> list[Model]:
    return [each for each in CATALOGUE.values() if (each.runtime, each.kind) == (runtime, kind)]


@pytest.fixture
def folder(tmp_path: Path, model: Model) -> Path:
    """The folder that an entry installs, its files empty."""
    for file in model.files:
        path = tmp_path / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize("model", of("sherpa-onnx", "asr"), ids=lambda model: model.name)
def test_a_recogniser_has_the_files_that_its_provider_looks_for(model: Model, folder: Path) -> None:
    its = ModelFolder(folder)
    found = [its.require(*file) for file in KINDS[RECOGNISERS[model.name]].files.values()]
    assert len({*found, its.tokens()}) == len(model.files)


@pytest.mark.parametrize("model", of("sherpa-onnx", "tts"), ids=lambda model: model.name)
def test_a_voice_has_the_files_that_its_provider_looks_for(model: Model, folder: Path) -> None:
    its = ModelFolder(folder, int8=False)
    assert its.tokens().name == "tokens.txt"
    assert its.find(r"(.*[-_.])?model.*\.onnx") is not None
    if model.name in SMALL_VOICES:
        assert (folder / SMALL_VOICES[model.name]).exists()
    else:
        assert its.find(r"vocos.*\.onnx") is not None


@pytest.mark.parametrize("model", of("piper", "tts"), ids=lambda model: model.name)
def test_a_piper_voice_is_a_model_and_its_description(model: Model) -> None:
    voice, described = (file.name for file in model.files)
    assert described == f"{voice}.json"
    assert voice.endswith(".onnx")


@pytest.mark.parametrize("model", of("funasr", "asr"), ids=lambda model: model.name)
def test_a_folder_of_funasr_describes_itself(model: Model) -> None:
    names = {file.name for file in model.files}
    assert {"model.pt", "config.yaml", "configuration.json"} <= names


@pytest.mark.parametrize("model", CATALOGUE.values(), ids=lambda model: model.name)
def test_an_entry(model: Model, tmp_path: Path) -> None:
    assert model.size > 10_000_000
    assert model.licence.url.startswith("https://")
    assert all(re.fullmatch(r"[a-z]{2,3}", language) for language in model.languages)
    for part in model.parts:
        hubs = [source.hub for source in part.sources]
        assert len(set(hubs)) == len(hubs)
        for source in part.sources:
            if source.hub == "huggingface" and all(file.sha256 for file in part.files):
                # Digests of a branch would be wrong with its next commit.
                assert source.revision or part.files[0].size, f"{model.name}: pin a revision"
    settings = tmp_path / "vixio.yaml"
    (kind, section), *_ = model.settings(model.name).items()
    settings.write_text("\n".join([f"{kind}:", *(f"  {k}: {v}" for k, v in section.items())]))
    chosen = load_settings(settings, {}).model_dump()[kind]
    assert chosen["name"] == model.runtime


def test_chinese_ears_are_small_and_come_from_three_hubs() -> None:
    model = CATALOGUE["sense-voice"]
    assert model.size < 240_000_000
    assert {source.hub for source in model.parts[0].sources} == {
        "huggingface",
        "modelscope",
        "github",
    }


def test_an_unknown_name_is_told_with_near_ones() -> None:
    with pytest.raises(ModelError, match=r"no model 'sensevoice' \(near: sense-voice"):
        find(CATALOGUE, "sensevoice")
    with pytest.raises(ModelError, match="no model 'nothing'; `vixio models` lists all"):
        find(CATALOGUE, "nothing")


GOOD = """
mine:
  title: Mine
  kind: asr
  runtime: sherpa-onnx
  languages: [en]
  licence: {name: MIT, url: "https://example.org"}
  parts:
    - files: [{name: model.onnx, size: 3}]
      sources: [{hub: huggingface, repo: me/mine}]
"""


def test_an_own_catalogue_adds_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD + GOOD.replace("mine:", "sense-voice:"))
    models = load_catalogue(path)
    assert models["mine"].title == models["sense-voice"].title == "Mine"
    assert models.keys() == {*CATALOGUE, "mine"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("mine:", "../mine:", "entry ../mine: name"),
        ("mine:", "Mine:", "entry Mine: name"),
        ("name: model.onnx", "name: ../model.onnx", "no relative path"),
        ("name: model.onnx", "name: /model.onnx", "no relative path"),
        ("name: model.onnx", "name: a/./b", "no relative path"),
        ("name: model.onnx", "name: vixio-model.json", "no file may be named"),
        ("{name: model.onnx, size: 3}", "{name: a}, {name: a}", "two files have the same name"),
        ("size: 3", "sha256: abc", "parts.0.files.0.sha256"),
        ("size: 3", "sze: 3", "parts.0.files.0.sze"),
        ("hub: huggingface", "hub: elsewhere", "parts.0.sources.0.hub"),
        ("hub: huggingface", "hub: github", "needs `revision`"),
        ("repo: me/mine", "repo: ../..", "parts.0.sources.0.repo"),
        ("kind: asr", "kind: vad", "kind"),
        ("  title: Mine", "\ttitle: Mine", "is no YAML"),
        ("\nmine:", "\n- mine:", "has to map names"),
    ],
)
def test_mistakes_in_a_catalogue(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = tmp_path / "mine.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ModelError) as refused:
        load_catalogue(path)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_catalogue_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot read the catalogue"):
        load_catalogue(tmp_path / "none.yaml")
