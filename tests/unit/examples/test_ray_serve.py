"""What can be held of examples/ray_serve without Ray: its files fit each other and the preset.

`make test-ray` runs the example.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from vixio.settings import load_settings
from vixio.settings.provider import ProviderSection

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "ray_serve"
PIN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*==[0-9][0-9a-z.]*( ; [^;#@]+)?")


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example's settings, which need pydantic alone."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    for name in ("speech_service", "speech_service.options"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import speech_service.options

    return speech_service.options


def configuration() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(EXAMPLE.joinpath("speech.yaml").read_text("utf-8"))
    return loaded


def given(section: ProviderSection, number: int = 0) -> dict[str, Any]:
    """Return the options of the provider, or of one of a list."""
    _, part = list(section.parts())[number]
    assert part.name == "openai"
    return part.options.model_dump()


def test_the_preset_asks_for_what_the_service_has(options: ModuleType) -> None:
    (application,) = configuration()["applications"]
    made = options.Options.model_validate(application["args"])
    port = configuration()["http_options"]["port"]
    preset = load_settings(ROOT / "config" / "ray-serve.yaml", {})
    asr, tts = given(preset.asr), given(preset.tts)
    assert (asr["model"], tts["model"]) == (made.recogniser.name, made.voice.name)
    for each in (asr, tts):
        assert urlsplit(each["base_url"]).port == port
    assert port not in {preset.server.port, preset.server.http_port}  # both fit on one machine
    assert tts["max_chars"] <= made.voice.max_chars
    assert asr["max_seconds"] <= made.recogniser.max_seconds


def test_a_batch_fits_into_a_replica() -> None:
    deployments = {each["name"]: each for each in configuration()["applications"][0]["deployments"]}
    assert set(deployments) == {"Api", "Recogniser", "Voice"}
    recogniser = deployments["Recogniser"]
    assert recogniser["user_config"]["max_batch_size"] <= recogniser["max_ongoing_requests"]


def test_every_requirement_is_pinned_and_no_address_is_named() -> None:
    text = EXAMPLE.joinpath("requirements.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(map(PIN.fullmatch, lines))
    names = [Requirement(line).name for line in lines]
    assert names == sorted(names)
    versions = {canonicalize_name(pin.name): pin.specifier for pin in map(Requirement, lines)}
    asked = EXAMPLE.joinpath("requirements.in").read_text("utf-8").splitlines()
    for wanted in (Requirement(line) for line in asked if not line.startswith("#")):
        (pin,) = versions[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(pin.version), wanted
