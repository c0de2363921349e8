"""Piper's settings, errors and phonemes, without its package."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
from pydantic import ValidationError

from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.piper.phonemes import EspeakPhonemes
from vixio.providers.piper.provider import PiperLocalVoice, PiperSettings, PiperTTSProvider


async def refused(match: str, model: Path) -> None:
    tts = PiperTTSProvider(PiperSettings(model=model))
    with pytest.raises(ProviderUnavailable, match=match):
        await tts.start()
    await tts.close()


async def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "piper", None)
    model = tmp_path / "en_US-amy-low.onnx"
    await refused(r"no file .*amy-low\.onnx: python -m piper\.download_voices", model)
    model.write_bytes(b"")
    await refused(r"no file .*amy-low\.onnx\.json", model)
    model.with_suffix(".onnx.json").write_text("{}", encoding="utf-8")
    await refused(r"extra NAME=piper", model)


def test_settings_and_registry(tmp_path: Path) -> None:
    factory = registry.resolve("tts", "piper")
    assert isinstance(factory.create(PiperSettings(model=tmp_path)), PiperTTSProvider)
    for options in ({}, {"model": "a", "length_scale": 0}, {"model": "a", "voice": "b"}):
        with pytest.raises(ValidationError):
            PiperSettings.model_validate(options)


class Engine:
    """Piper's voice: a number for each phoneme, and two samples for each number."""

    config = SimpleNamespace(sample_rate=16_000)

    def __init__(self) -> None:
        self.phonemes: list[list[str]] = []

    def phonemize(self, text: str) -> list[list[str]]:
        return [list(text)]

    def phonemes_to_ids(self, phonemes: list[str]) -> list[int]:
        self.phonemes.append(phonemes)
        return [len(each) for each in phonemes]

    def phoneme_ids_to_audio(self, ids: list[int], how: object) -> npt.NDArray[np.float32]:
        return np.tile(np.array([0.25, -0.5], np.float32), len(ids))


def phonemes_of(voice: str, clusters: set[tuple[str, ...]] | None = None) -> EspeakPhonemes:
    return EspeakPhonemes("piper", SimpleNamespace(espeak_voice=voice, vowel_clusters=clusters))


@pytest.fixture
def nepali() -> Iterator[EspeakPhonemes]:
    with closing(phonemes_of("ne")) as phonemes:
        yield phonemes


def speak(voice: PiperLocalVoice, text: str) -> list[npt.NDArray[np.float32]]:
    spoken: list[npt.NDArray[np.float32]] = []

    def write(sound: npt.NDArray[np.float32]) -> bool:
        spoken.append(sound)
        return True

    voice.speak(text, write)
    return spoken


def test_texts_that_crash_espeak_are_spoken(nepali: EspeakPhonemes) -> None:
    """Piper's own eSpeak NG, in this process, would end it."""
    engine = Engine()
    voice = PiperLocalVoice(engine, SimpleNamespace(volume=0.5), nepali)
    assert speak(voice, "\u28ff") == []
    first, second = speak(voice, "\u24dc\u28ff नमस्ते. [[t]] संसार?")[-2:]
    assert "".join(engine.phonemes[-1]).endswith("?")
    assert first.max() == second.max() == 0.25  # half of full scale, by the volume
    assert first.min() == -0.5


def test_a_crash_costs_one_text(nepali: EspeakPhonemes) -> None:
    voice = PiperLocalVoice(Engine(), SimpleNamespace(volume=1.0), nepali)
    whole = len(speak(voice, "नमस्ते"))
    connection = nepali._phonemes._client._connection
    assert connection is not None
    os.kill(connection._process.pid, signal.SIGKILL)
    with pytest.raises(ProviderError, match="crashed") as caught:
        speak(voice, "नमस्ते")
    assert caught.value.reason == REQUEST
    assert len(speak(voice, "नमस्ते")) == whole


def test_clusters_of_vowels_are_one_phoneme() -> None:
    with closing(phonemes_of("en-us", {("a", "ɪ"), ("a", "ɪ", "ɚ")})) as phonemes:
        assert list(phonemes.of("I. Fire!")) == [["ˈ", "aɪ", "."], ["f", "ˈ", "aɪɚ", "!"]]


def test_a_voice_that_espeak_does_not_have_is_named() -> None:
    with pytest.raises(ProviderUnavailable, match="piper: eSpeak NG has no voice no-such"):
        phonemes_of("no-such")


def test_a_voice_of_letters_needs_no_process() -> None:
    engine = Engine()
    voice = PiperLocalVoice(engine, SimpleNamespace(volume=1.0), None)
    assert len(speak(voice, "yes")[0]) == 6
    assert engine.phonemes == [["y", "e", "s"]]
    voice.close()
