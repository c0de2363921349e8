"""The options of Edge TTS, and the selection of the voice."""

from __future__ import annotations

from typing import Any

import pytest
from edge_tts.communicate import Communicate
from pydantic import ValidationError

from vixio.core.errors import ProviderUnavailable
from vixio.providers.edge_tts import provider
from vixio.providers.edge_tts.provider import EdgeTTSProvider
from vixio.providers.edge_tts.settings import VOICES, EdgeTTSSettings, spoken_by, voice_for
from vixio.providers.registry import resolve

XIAOXIAO, EMMA, NANAMI = VOICES["zh"], VOICES["en"], VOICES["ja"]
YUNXI, RYAN, AVA = "zh-CN-YunxiNeural", "en-GB-RyanNeural", "en-US-AvaMultilingualNeural"


@pytest.mark.parametrize(
    ("options", "text", "language", "voice"),
    [
        # Nothing set: by the language, then by the script.
        ({}, "Hello.", "", XIAOXIAO),
        ({}, "Hello.", "en", EMMA),
        ({}, "Hello.", "en-US", EMMA),
        ({}, "Hello.", "en_GB", VOICES["en-gb"]),
        ({}, "你好。", "en", XIAOXIAO),
        ({}, "你好。", "zh-HK", VOICES["zh-hk"]),
        ({}, "こんにちは。", "", NANAMI),
        ({}, "Salve.", "la", XIAOXIAO),
        # A voice speaks everything that it can read.
        ({"voice": YUNXI}, "Hello.", "en", YUNXI),
        ({"voice": RYAN}, "Hello.", "en-US", RYAN),
        ({"voice": RYAN}, "Bonjour.", "fr", RYAN),
        ({"voice": RYAN}, "你好。", "en", XIAOXIAO),
        ({"voice": AVA}, "你好。", "en", AVA),
        ({"voice": YUNXI}, "こんにちは。", "zh", XIAOXIAO),
        ({"voice": NANAMI}, "你好。", "zh", NANAMI),
        # A voice for the language comes first.
        ({"voice": YUNXI, "voices": {"en": RYAN}}, "Hello.", "en-US", RYAN),
        ({"voice": YUNXI, "voices": {"en": RYAN}}, "你好。", "en-US", YUNXI),
        ({"voices": {"zh": YUNXI}}, "你好。", "en", YUNXI),
    ],
)
def test_voice_for(options: dict[str, Any], text: str, language: str, voice: str) -> None:
    assert voice_for(EdgeTTSSettings.model_validate(options), text, language) == voice


@pytest.mark.parametrize(
    "options",
    [
        {"voice": "xiaoxiao"},
        {"voice": "zh-CN-Xiaoxiao'/><x>Neural"},
        {"voices": {"en": "Emma"}},
        {"rate": "10%"},
        {"rate": 10},
        {"pitch": "+5%"},
        {"volume": "loud"},
        {"timeout": 0},
        {"url": "wss://x"},
    ],
)
def test_mistakes_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(options))):
        EdgeTTSSettings.model_validate(options)


def test_what_the_settings_allow_the_package_takes() -> None:
    for voice in VOICES.values():
        Communicate("a", EdgeTTSSettings(voice=voice).voice or "")
    settings = EdgeTTSSettings(rate="-50%", pitch="+5Hz", volume="+100%")
    Communicate("a", rate=settings.rate, pitch=settings.pitch, volume=settings.volume)


def test_the_registry_knows_it() -> None:
    factory = resolve("tts", "edge")
    assert isinstance(factory.create(factory.settings_model()), EdgeTTSProvider)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "find_spec", lambda name: None)
    with pytest.raises(ProviderUnavailable, match=r"extra NAME=edge"):
        EdgeTTSProvider()


@pytest.mark.parametrize(
    ("options", "known", "unknown"),
    [
        ({}, {"en", "zh", "de"}, {"nl"}),
        ({"voice": "nl-NL-ColetteNeural"}, {"nl", "zh", "ja"}, {"en"}),
        ({"voices": {"nl": "nl-NL-ColetteNeural"}}, {"nl", "en"}, {"sv"}),
    ],
)
def test_the_languages_that_have_a_voice(
    options: dict[str, object], known: set[str], unknown: set[str]
) -> None:
    spoken = spoken_by(EdgeTTSSettings.model_validate(options))
    assert spoken is not None
    assert known <= set(spoken)
    assert not unknown & set(spoken)


def test_a_voice_of_many_languages() -> None:
    assert spoken_by(EdgeTTSSettings(voice="en-US-EmmaMultilingualNeural")) is None
