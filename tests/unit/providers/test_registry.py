"""Names, third parties, and what a mistake is answered with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.support.entry_points import Installed, site_of
from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.registry import ProviderFactory, ProviderKind, names, resolve


class AcmeSettings(BaseModel):
    voice: str = "anna"


def make_acme(settings: AcmeSettings) -> str:
    return f"acme with {settings.voice}"


FACTORY = ProviderFactory(settings_model=AcmeSettings, create=make_acme)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    with site_of(tmp_path, registry.ENTRY_POINT_GROUP, monkeypatch) as site:
        yield site


@pytest.fixture
def acme_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acme_vixio", sys.modules[__name__])


@pytest.mark.parametrize(("kind", "name"), sorted(registry.builtin_names()))
def test_every_builtin_has_a_factory(kind: ProviderKind, name: str) -> None:
    factory = resolve(kind, name)
    assert issubclass(factory.settings_model, BaseModel)
    assert factory.settings_model.model_config.get("extra") == "forbid"


def test_builtins_are_listed() -> None:
    assert "silero" in names("vad")
    assert "espeak" in names(ProviderKind.TTS)
    assert {"phrasebook", "openai", "litellm"} <= set(names("agent"))


def test_the_module_is_imported_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "vixio.providers.espeak.provider"
    factory = resolve("tts", "espeak")
    assert factory is import_module(module).FACTORY
    monkeypatch.delitem(sys.modules, module)
    names("tts")
    assert module not in sys.modules


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Espeak", r"there is no tts provider 'Espeak', did you mean 'espeak'\? \(known: .*espeak"),
        ("espeek", "did you mean 'espeak'"),
        (
            "whisper",
            r"whisper is a recogniser, write it under `asr:`; a voice goes here \(.*espeak",
        ),
        (
            "fallback",
            r"fallback is an agent, write it under `agent:`; a voice goes here \(.*sherpa-onnx",
        ),
        ("zzz", r"there is no tts provider 'zzz' \(known:"),
    ],
)
def test_an_unknown_name(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve("tts", name)


def test_the_name_of_a_model_is_no_provider() -> None:
    with pytest.raises(ConfigError, match=r"there is no vision provider 'gpt' \(known: openai;"):
        resolve("vision", "gpt")


def test_a_third_party(installed: Installed, acme_module: None) -> None:
    installed.add("acme-vixio", tts__acme="acme_vixio:FACTORY", vad__acme="acme_vixio:FACTORY")
    assert resolve("tts", "acme") is FACTORY
    assert names("tts") == sorted({"acme", *names("tts")})
    assert "acme" in names("vad")
    assert "acme" not in names("asr")
    with pytest.raises(ConfigError, match="did you mean 'acme'"):
        resolve("tts", "acmee")


def test_a_third_party_cannot_take_a_builtin_name(installed: Installed, acme_module: None) -> None:
    installed.add("acme-vixio", tts__espeak="acme_vixio:FACTORY")
    assert resolve("tts", "espeak") is not FACTORY


def test_two_that_claim_one_name(installed: Installed, acme_module: None) -> None:
    installed.add("acme-vixio", tts__acme="acme_vixio:FACTORY", vad__acme="acme_vixio:FACTORY")
    installed.add("other-vixio", tts__acme="other_vixio:FACTORY")
    with pytest.raises(ConfigError, match="acme-vixio, other-vixio all bring a tts provider acme"):
        resolve("tts", "acme")
    assert resolve("vad", "acme") is FACTORY


def test_what_it_needs_is_missing(installed: Installed) -> None:
    installed.add("acme-vixio", tts__acme="no_such_module:FACTORY")
    with pytest.raises(ProviderUnavailable, match=r"no_such_module.*upgrade acme-vixio"):
        resolve("tts", "acme")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vixio.providers.openai_agent.backend", None)
    with pytest.raises(ProviderUnavailable, match=r"extra NAME=litellm"):
        resolve("agent", "litellm")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("acme_vixio:NOTHING", "acme_vixio:NOTHING does not exist"),
        ("acme_vixio:make_acme", "acme_vixio:make_acme is not a ProviderFactory"),
    ],
)
def test_what_is_exported_is_wrong(
    installed: Installed, acme_module: None, target: str, message: str
) -> None:
    installed.add("acme-vixio", tts__acme=target)
    with pytest.raises(ConfigError, match=message):
        resolve("tts", "acme")


def test_a_factory_creates_from_its_settings() -> None:
    assert FACTORY.create(FACTORY.settings_model(voice="bert")) == "acme with bert"


def test_a_provider_of_several_other_kinds() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("vad", "openai")
    assert str(caught.value) == (
        "openai is a recogniser and an agent and a voice and a model that sees, write it under "
        "`asr:` or `agent:` or `tts:` or `vision:`; a detector of speech goes here (silero, ten)"
    )


@pytest.mark.parametrize("kind", ProviderKind)
def test_every_kind_has_words_for_one_that_stands_elsewhere(kind: ProviderKind) -> None:
    other = "espeak" if kind is not ProviderKind.TTS else "silero"
    with pytest.raises(ConfigError, match=rf"^{other} is a .*, write it under `(tts|vad):`; an? "):
        resolve(kind, other)
