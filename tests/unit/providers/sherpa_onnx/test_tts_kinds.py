"""The kind of a voice is detected from its files and metadata; errors name what is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.unit.providers.sherpa_onnx.onnx_files import model
from vixio.core.errors import ProviderUnavailable
from vixio.providers import registry
from vixio.providers.sherpa_onnx.folder import ModelFolder
from vixio.providers.sherpa_onnx.tts import SherpaTTSProvider, SherpaTTSSettings
from vixio.providers.sherpa_onnx.tts_kinds import VoiceFiles, voice_files

VITS = {"sample_rate": 22050, "n_speakers": 0, "language": "English", "comment": "piper"}
KOKORO = {"sample_rate": 24000, "n_speakers": 53, "has_espeak": 1, "style_dim": "510,1,4"}
MATCHA = {
    "model_type": "matcha-tts",
    "sample_rate": 22050,
    "n_speakers": 1,
    "use_eos_bos": 0,
    "pad_id": 0,
}


def unpack(folder: Path, *names: str) -> ModelFolder:
    for name in ("tokens.txt", *names):
        folder.joinpath(name).write_bytes(b"a 0\n")
    return ModelFolder(folder)


def styles(folder: Path, size: int = 4 * 510 * 4 * 53) -> None:
    folder.joinpath("voices.bin").write_bytes(bytes(size))


def names(files: VoiceFiles) -> dict[str, str]:
    return {
        role: ",".join(Path(each).name for each in paths.split(","))
        for role, paths in files.arguments.items()
    }


def test_a_piper_voice(tmp_path: Path) -> None:
    model(tmp_path / "en_US-amy-low.onnx", **VITS)
    files = voice_files(unpack(tmp_path))
    assert (files.kind, files.speakers) == ("vits", 1)
    assert names(files) == {
        "model": "en_US-amy-low.onnx",
        "tokens": "tokens.txt",
    }
    assert files.phonemes == "en-us"


def test_a_vits_voice_with_a_lexicon_and_rules(tmp_path: Path) -> None:
    model(tmp_path / "model.onnx", **{**VITS, "n_speakers": 174})
    folder = unpack(tmp_path, "lexicon.txt", "date.fst", "number.fst", "rule.far")
    files = voice_files(folder)
    assert files.speakers == 174
    assert files.phonemes == ""
    assert names(files)["lexicon"] == "lexicon.txt"
    assert [Path(each).name for each in files.rule_fsts.split(",")] == ["date.fst", "number.fst"]
    assert Path(files.rule_fars).name == "rule.far"


def test_a_kokoro_voice_of_several_languages(tmp_path: Path) -> None:
    model(tmp_path / "model.onnx", **KOKORO)
    styles(tmp_path)
    folder = unpack(tmp_path, "lexicon-us-en.txt", "lexicon-zh.txt")
    files = voice_files(folder)
    assert (files.kind, files.speakers) == ("kokoro", 53)
    assert names(files)["lexicon"] == "lexicon-us-en.txt,lexicon-zh.txt"
    assert names(files)["voices"] == "voices.bin"


def test_a_matcha_voice_and_its_vocoder(tmp_path: Path) -> None:
    model(tmp_path / "model-steps-3.onnx", **MATCHA)
    folder = unpack(tmp_path, "lexicon.txt")
    with pytest.raises(ProviderUnavailable, match="no vocoder"):
        voice_files(folder)
    model(tmp_path / "vocos-22khz-univ.onnx", model_type="some other")
    with pytest.raises(ProviderUnavailable, match="which is no vocoder"):
        voice_files(ModelFolder(tmp_path))
    model(tmp_path / "vocos-22khz-univ.onnx", model_type="vocos")
    files = voice_files(ModelFolder(tmp_path))
    assert files.kind == "matcha"
    assert names(files)["acoustic_model"] == "model-steps-3.onnx"
    assert names(files)["vocoder"] == "vocos-22khz-univ.onnx"


def test_a_kitten_voice(tmp_path: Path) -> None:
    styles(tmp_path)
    model(tmp_path / "model.fp16.onnx", **{**KOKORO, "model_type": "kitten-tts"})
    assert voice_files(unpack(tmp_path)).kind == "kitten"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match=r"has no model\.onnx"):
        voice_files(ModelFolder(tmp_path))
    model(tmp_path / "model.onnx", sample_rate=22050)
    with pytest.raises(ProviderUnavailable, match="does not say n_speakers, language, comment"):
        voice_files(unpack(tmp_path))
    model(tmp_path / "model.onnx", **VITS)
    with pytest.raises(ProviderUnavailable, match=r"does not say has_espeak"):
        voice_files(ModelFolder(tmp_path), "kokoro")
    model(tmp_path / "other.onnx", **VITS)
    (tmp_path / "model.onnx").rename(tmp_path / "third.onnx")
    with pytest.raises(ProviderUnavailable, match="several models"):
        voice_files(ModelFolder(tmp_path))


async def test_a_missing_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model(tmp_path / "model.onnx", **VITS)
    unpack(tmp_path, "lexicon.txt")
    monkeypatch.setitem(sys.modules, "sherpa_onnx", None)
    tts = SherpaTTSProvider(SherpaTTSSettings(folder=tmp_path, try_first=False))
    with pytest.raises(ProviderUnavailable, match=r"extra NAME=sherpa"):
        await tts.start()
    await tts.close()


async def test_an_unknown_speaker_fails_before_the_library_is_loaded(tmp_path: Path) -> None:
    model(tmp_path / "model.onnx", **VITS)
    unpack(tmp_path, "lexicon.txt")
    tts = SherpaTTSProvider(SherpaTTSSettings(folder=tmp_path, speaker=1, try_first=False))
    with pytest.raises(ProviderUnavailable, match="there is no 1"):
        await tts.start()
    await tts.close()


def test_truncated_styles_are_an_error(tmp_path: Path) -> None:
    """The library would abort the process."""
    model(tmp_path / "model.onnx", **KOKORO)
    styles(tmp_path, 1000)
    with pytest.raises(ProviderUnavailable, match=r"voices\.bin that does not fit its model"):
        voice_files(unpack(tmp_path))
    styles(tmp_path)
    assert voice_files(ModelFolder(tmp_path)).phonemes == "en-us"
    model(tmp_path / "model.onnx", **{**KOKORO, "style_dim": "510,256"})
    with pytest.raises(ProviderUnavailable, match="does not fit"):
        voice_files(ModelFolder(tmp_path))


@pytest.mark.parametrize(
    ("said", "voice"),
    [
        ({"voice": "de"}, "de"),
        ({"language": "Chinese"}, "cmn"),
        ({"language": "it"}, "it"),
        ({"frontend": "characters"}, ""),
    ],
)
def test_the_voice_of_the_phonemes(tmp_path: Path, said: dict[str, str], voice: str) -> None:
    model(tmp_path / "model.onnx", **{**VITS, **said})
    assert voice_files(unpack(tmp_path)).phonemes == voice


@pytest.mark.parametrize(
    ("said", "languages"),
    [
        ({"voice": "de"}, ("de",)),
        ({"voice": "en-us"}, ("en-us",)),
        ({"language": "Chinese + English"}, ("en-us", "cmn")),
        ({"language": "it"}, ("it",)),
        ({"language": "multi-lang, as English, Chinese", "voice": "en-us"}, None),
        ({"language": "Klingon"}, None),
    ],
)
def test_the_languages_that_a_voice_says(
    tmp_path: Path, said: dict[str, str], languages: tuple[str, ...] | None
) -> None:
    model(tmp_path / "model.onnx", **{**VITS, **said})
    unpack(tmp_path)
    factory = registry.resolve("tts", "sherpa-onnx")
    assert factory.languages(SherpaTTSSettings(folder=tmp_path)) == languages


@pytest.mark.slow
async def test_a_language_that_espeak_lacks_is_an_error(tmp_path: Path) -> None:
    model(tmp_path / "model.onnx", **{**VITS, "voice": "xx-nowhere"})
    unpack(tmp_path)
    tts = SherpaTTSProvider(SherpaTTSSettings(folder=tmp_path, try_first=False))
    with pytest.raises(ProviderUnavailable, match="eSpeak NG has no voice xx-nowhere"):
        await tts.start()
    await tts.close()


def test_the_registry_knows_it(tmp_path: Path) -> None:
    factory = registry.resolve("tts", "sherpa-onnx")
    assert isinstance(factory.create(SherpaTTSSettings(folder=tmp_path)), SherpaTTSProvider)
    with pytest.raises(ValidationError):
        SherpaTTSSettings.model_validate({"folder": "m", "voice": "anna"})
