"""TEN VAD without its library: settings and errors."""

from __future__ import annotations

import ctypes
import platform
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from pydantic import ValidationError

from vixio.core.errors import ProviderUnavailable
from vixio.providers import registry
from vixio.providers.ten_vad import library
from vixio.providers.ten_vad.library import find_library, load_library
from vixio.providers.ten_vad.provider import TenSettings, TenVADProvider


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installed ``ten_vad``, empty."""
    spec = ModuleSpec("ten_vad", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(library, "find_spec", lambda _: spec)
    return tmp_path


def test_settings_are_those_of_silero() -> None:
    assert TenSettings() == TenSettings(max_batch=128, gather_ms=10.0)
    with pytest.raises(ValidationError):
        TenSettings.model_validate({"threshold": 0.5})


def test_the_registry_knows_it() -> None:
    factory = registry.resolve("vad", "ten")
    assert factory.settings_model is TenSettings
    assert isinstance(factory.create(TenSettings()), TenVADProvider)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_spec", lambda _: None)
    with pytest.raises(ProviderUnavailable, match=r"extra NAME=ten"):
        find_library()


def test_a_machine_without_a_library_is_an_error(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(ProviderUnavailable, match="no library for Linux aarch64"):
        find_library()


@pytest.mark.skipif(platform.system() != "Linux", reason="the loader's message is Linux's")
def test_what_cannot_be_loaded_says_what_to_do(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    file = package / "lib/Linux/x64/libten_vad.so"
    with pytest.raises(ProviderUnavailable, match=r"carries no libten_vad\.so"):
        load_library()
    file.parent.mkdir(parents=True)
    file.write_bytes(b"no library")
    with pytest.raises(ProviderUnavailable, match=r"cannot load libten_vad\.so"):
        load_library()

    def lacking(path: str) -> None:
        raise OSError("libc++.so.1: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(ctypes, "CDLL", lacking)
    with pytest.raises(ProviderUnavailable, match="apt-get install libc\\+\\+1"):
        load_library()
