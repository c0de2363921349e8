"""Whisper without its packages: the model is joined from its parts, whole or not at all."""

from __future__ import annotations

import hashlib
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from pydantic import ValidationError

from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers import registry
from vixio.providers.asr import SpeechHints
from vixio.providers.inference.packaged import ModelPackage, PackagedFile
from vixio.providers.whisper import files, provider
from vixio.providers.whisper.model import WhisperModel, _prompt
from vixio.providers.whisper.provider import WhisperASRProvider, WhisperSettings

PART1, PART2, CONFIG = b"first" * 1_000, b"second" * 900, b"{}"


def packaged(path: str, content: bytes) -> PackagedFile:
    return PackagedFile(path, len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small packages in the place of the real ones; returns the folder of temporary ones."""
    site = tmp_path / "site"
    for module, name, content in (
        ("weights_1", "model.bin.part1", PART1),
        ("weights_2", "model.bin.part2", PART2),
        ("weights_2", "config.json", CONFIG),
    ):
        folder = site / module / "data"
        folder.mkdir(parents=True, exist_ok=True)
        folder.parent.joinpath("__init__.py").touch()
        folder.joinpath(name).write_bytes(content)
    monkeypatch.syspath_prepend(site)
    first = (packaged("data/model.bin.part1", PART1),)
    second = (packaged("data/model.bin.part2", PART2), packaged("data/config.json", CONFIG))
    monkeypatch.setattr(files, "FIRST", ModelPackage("w", "weights_1", "w-1==1", "whisper", first))
    monkeypatch.setattr(
        files, "SECOND", ModelPackage("w", "weights_2", "w-2==1", "whisper", second)
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return temporary


def test_the_parts_are_joined_while_it_is_loaded(packages: Path) -> None:
    with files.packaged() as folder:
        found = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert folder.is_relative_to(packages)
    assert found == {"model.bin": PART1 + PART2, "config.json": CONFIG}
    assert list(packages.iterdir()) == [], "nothing is left"


def test_a_changed_part_is_refused(packages: Path) -> None:
    files.FIRST.folder().joinpath("data", "model.bin.part1").write_bytes(PART1[::-1])
    with pytest.raises(ProviderUnavailable, match="another SHA-256"), files.packaged():
        pass
    assert list(packages.iterdir()) == []


@pytest.mark.parametrize("there", [(), ("faster_whisper",)])
def test_a_missing_package_is_one_line(
    there: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(name: str) -> ModuleSpec | None:
        return ModuleSpec(name, None) if name in there else None

    monkeypatch.setattr(provider, "find_spec", find)
    monkeypatch.setattr("vixio.providers.inference.packaged.find_spec", find)
    with pytest.raises(ProviderUnavailable) as caught:
        WhisperASRProvider()
    said = str(caught.value)
    assert said.startswith("whisper: ")
    assert said.endswith(how_to_install("whisper"))


@pytest.mark.parametrize("missing", ["model.bin", "config.json", "tokenizer.json"])
def test_a_folder_that_would_need_a_network_is_refused(tmp_path: Path, missing: str) -> None:
    for name in {"model.bin", "config.json", "tokenizer.json"} - {missing}:
        tmp_path.joinpath(name).touch()
    with pytest.raises(ProviderUnavailable, match=f"has no {missing}"):
        WhisperModel(tmp_path, threads=1, beam=1, rejection=-1.0, no_speech=0.6)


def test_the_language_is_that_of_the_settings_or_the_profile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(provider, "find_spec", lambda name: ModuleSpec(name, None))
    model = Path("unused")
    of_profile = WhisperASRProvider(WhisperSettings(model=model))
    assert of_profile.request(SpeechHints(language="zh-TW")) == "zh-TW"
    assert of_profile.request(SpeechHints()) == ""
    fixed = WhisperASRProvider(WhisperSettings(model=model, language="de"))
    assert fixed.request(SpeechHints(language="zh-TW")) == "de"


def test_the_script_follows_the_language() -> None:
    for tag in ("zh", "zh-CN", "zh-Hans-SG", "zh_cn"):
        assert "话" in _prompt(tag)
    for tag in ("zh-TW", "zh-HK", "zh-Hant", "zh-Hant-TW", "zh_tw"):
        assert "話" in _prompt(tag)


def test_the_registry_knows_it() -> None:
    factory = registry.resolve("asr", "whisper")
    assert factory.settings_model is WhisperSettings
    assert factory.memory_mb(WhisperSettings()) == 238
    with pytest.raises(ValidationError):
        WhisperSettings.model_validate({"size": "large"})
