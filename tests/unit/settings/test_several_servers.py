"""Several addresses where a provider has one: what they make, and mistakes in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.speech_server import SpeechServer, refusal
from vixio.cli.diagnostics.check import Part, check_all
from vixio.core.errors import ConfigError
from vixio.providers import registry
from vixio.providers.combined.provider import CombinedASRProvider
from vixio.providers.fallback.asr import FallbackASRProvider
from vixio.providers.fallback.tts import FallbackTTSProvider
from vixio.providers.fallback.vision import FallbackVisionProvider
from vixio.providers.openai_agent.fallback_backend import ReplicatedAgentBackend
from vixio.settings import Settings, load_settings

A, B = (f"http://10.0.0.{number}:8000/v1" for number in (1, 2))
C = "http://10.0.0.3/v1/chat/completions"


def load(directory: Path, sections: dict[str, Any] | str) -> Settings:
    path = directory / "vixio.yaml"
    text = sections if isinstance(sections, str) else yaml.safe_dump(sections)
    path.write_text(text, encoding="utf-8")
    return load_settings(path, {})


def openai(*urls: str, **options: object) -> dict[str, object]:
    return {"name": "openai", "model": "m", "base_url": list(urls), "api_key": "k", **options}


async def test_every_provider_of_a_service_takes_several(tmp_path: Path) -> None:
    one = openai(A, B)
    settings = load(tmp_path, {"asr": one, "agent": one, "tts": one, "vision": one})
    assert settings.vision is not None
    asr, tts, vision = settings.asr.create(), settings.tts.create(), settings.vision.create()
    assert isinstance(asr, FallbackASRProvider)
    assert isinstance(tts, FallbackTTSProvider)
    assert isinstance(vision, FallbackVisionProvider)
    for made in (asr, tts, vision):
        assert made.name == "openai"
        assert [(each["server"], each["pending"]) for each in made.stats()] == [
            ("10.0.0.1:8000", 0),
            ("10.0.0.2:8000", 0),
        ]
    agent = settings.agent.create()
    assert isinstance(agent, ReplicatedAgentBackend)
    assert agent.name == "openai"


def test_whatever_has_an_address_of_its_own_says_so() -> None:
    for kind, name in registry.builtin_names():
        factory = registry.resolve(kind, name)
        own = {"url", "base_url"} & set(factory.settings_model.model_fields)
        assert {factory.servers} - {""} == own, (kind, name)


def test_one_address_in_a_list_is_one_address(tmp_path: Path) -> None:
    settings = load(tmp_path, {"asr": openai(A)})
    assert not isinstance(settings.asr.create(), FallbackASRProvider)
    assert _plain(settings.asr.given()) == {**openai(A), "base_url": A}


async def test_several_in_a_list_of_providers_and_in_a_combination(tmp_path: Path) -> None:
    listed = load(tmp_path, {"asr": [openai(A, B), {"name": "pocketsphinx"}]}).asr
    made = listed.create()
    assert isinstance(made, FallbackASRProvider)
    assert made.name == "openai, pocketsphinx"
    assert [each.get("server") for each in made.stats()] == [
        "10.0.0.1:8000",
        "10.0.0.2:8000",
        None,
    ]
    combined = load(tmp_path, {"asr": {"name": "combined", "speech": openai(A, B)}}).asr.create()
    assert isinstance(combined, CombinedASRProvider)
    commands, speech = combined.stats()
    assert "servers" not in commands
    assert [each["server"] for each in speech["servers"]] == ["10.0.0.1:8000", "10.0.0.2:8000"]
    models = [openai(A, B), {"name": "phrasebook"}]
    agent = load(tmp_path, {"agent": {"name": "fallback", "models": models}}).agent
    again = load(tmp_path, {"agent": _plain(agent.given())}).agent
    assert again == agent


def _plain(value: Any) -> Any:  # noqa: ANN401 - what a file has
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case str() | int() | float() | bool() | None:
            return value
    if hasattr(value, "given"):
        return _plain(value.given())
    return value.get_secret_value()


@pytest.mark.parametrize("urls", [(A,), (A, B)])
def test_a_section_is_written_as_it_was_read(tmp_path: Path, urls: tuple[str, ...]) -> None:
    section = load(tmp_path, {"asr": openai(*urls)}).asr
    assert load(tmp_path, {"asr": _plain(section.given())}).asr == section


def test_the_servers_limits_hold_for_each_and_no_server_is_asked_twice(tmp_path: Path) -> None:
    asr = load(tmp_path, {"timeouts": {"asr": 5}, "asr": openai(A, B)}).asr
    each = [section.options.model_dump() for _, section in asr.servers()]
    assert [one["timeout"] for one in each] == [4.0, 4.0]
    assert [place for place, _ in asr.servers()] == [".base_url[0]", ".base_url[1]"]
    made = asr.create()
    assert isinstance(made, FallbackASRProvider)
    retries = [one.provider._settings.retries for one in made.candidates.all]  # type: ignore[attr-defined]
    assert retries == [0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("asr: {name: openai, base_url: []}", ":1: asr.base_url: expected an address or several"),
        (
            f"asr:\n  name: openai\n  base_url:\n  - {A}\n  - 10.0.0.2:8000/v1",
            ":5: asr.base_url[1]: expected an address with its scheme: write http://10.0.0.2:8000",
        ),
        (
            f"agent:\n  name: openai\n  base_url:\n  - {A}\n  - {B}\n  - {A}",
            ":6: agent.base_url[2]: this address is in the list twice",
        ),
        (
            f"tts:\n- name: espeak\n- name: openai\n  base_url: [{A}, 7]",
            ":4: tts[1].base_url[1]: expected an address, found 7",
        ),
        (
            f"asr: {{name: openai, base_url: [{A}, {B}], modl: m}}",
            ":1: asr.modl: there is no such key, did you mean 'model'?",
        ),
        (
            "asr: {name: funasr-server, url: ['ws://10.0.0.1:1', 'http://10.0.0.2:1']}",
            ":1: asr.url[1]: expected an address such as ws://",
        ),
        (
            f"agent:\n  name: fallback\n  models:\n  - name: openai\n    base_url: [{A}, {C}]",
            ":5: agent.models[0].base_url[1]: expected an address without /chat/completions",
        ),
    ],
)
def test_a_mistake_names_the_address(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert str(caught.value).removeprefix(str(tmp_path / "vixio.yaml")).startswith(message)


async def test_check_has_a_line_for_each(tmp_path: Path) -> None:
    lines: list[Part] = []
    async with SpeechServer() as sound, SpeechServer() as refusing:
        refusing.models = refusal(401)
        sections = {"asr": openai(sound.base_url, refusing.base_url)}
        path = tmp_path / "vixio.yaml"
        path.write_text(yaml.safe_dump(sections), encoding="utf-8")
        assert not await check_all(path, str(path), lines.append)
    found = {line.name: line for line in lines if line.name.startswith("asr")}
    assert list(found) == ["asr.base_url[0]", "asr.base_url[1]"]
    assert [line.ok for line in found.values()] == [True, False]
    assert refusing.base_url.split("/")[2] in found["asr.base_url[1]"].detail
