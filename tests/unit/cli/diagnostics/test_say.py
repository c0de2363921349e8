"""A text becomes a WAV, sentence by sentence, or nothing at all."""

from __future__ import annotations

import wave
from pathlib import Path

import pytest

from tests.unit.cli.diagnostics.kit import Kit
from vixio.cli.diagnostics.providers import Timing
from vixio.cli.diagnostics.say import say, sentences
from vixio.core.errors import ConfigError, ProviderError, ProviderTimeout
from vixio.settings import Settings

TEXT = "The first **sentence** is here. And this is the second one."


def test_sentences_are_those_that_a_device_would_hear() -> None:
    assert sentences(TEXT) == ["The first sentence is here.", "And this is the second one."]
    with pytest.raises(ConfigError, match="nothing in the text that could be spoken"):
        sentences(" … 😀\n")


async def test_numbers_are_spoken_as_by_the_server(kit: Kit, tmp_path: Path) -> None:
    await speak(tmp_path / "a.wav", "Tea at 8:05.")
    assert kit.tts.spoken in (["Tea at 8 oh 5."], ["Tea at eight oh five."])


def files(directory: Path) -> list[Path]:
    return list(directory.iterdir())


async def speak(path: Path, text: str = TEXT, **timeouts: float) -> tuple[Timing, list[str]]:
    told: list[str] = []
    settings = Settings.model_validate({"timeouts": timeouts})
    return await say(settings, text, path, language="en", progress=told.append), told


async def test_the_file_holds_what_was_spoken(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    timing, told = await speak(path)
    assert kit.tts.spoken == sentences(TEXT)
    with wave.open(str(path), "rb") as file:
        assert file.getframerate() == kit.tts.sample_rate
        seconds = file.getnframes() / file.getframerate()
    assert timing.audio == pytest.approx(seconds)
    assert seconds == pytest.approx(0.05 * sum(map(len, kit.tts.spoken)), abs=0.01)
    assert timing.first is not None
    assert 0 <= timing.first <= timing.total
    assert timing.real_time_factor == pytest.approx(timing.total / seconds)
    assert told[0] == "starting scripted"
    assert told[1].startswith("sentence 1 of 2; 0.0 s")
    assert told[2].startswith("sentence 2 of 2; 1.4 s")
    assert kit.closed == ["tts"]


async def test_a_voice_that_fails_leaves_no_file(kit: Kit, tmp_path: Path) -> None:
    kit.tts.error, kit.tts.error_on = ProviderError("scripted", "no more words"), "second"
    with pytest.raises(ProviderError, match="no more words"):
        await speak(tmp_path / "a.wav")
    assert files(tmp_path) == []
    assert (kit.closed, kit.tts.running) == (["tts"], 0)


async def test_a_voice_that_stalls_is_given_up(kit: Kit, tmp_path: Path) -> None:
    kit.tts.delay = 60.0
    with pytest.raises(ProviderTimeout, match=r"scripted: no audio within 0\.05 s"):
        await speak(tmp_path / "a.wav", tts=0.05)
    assert files(tmp_path) == []
    assert kit.tts.running == 0


async def test_a_voice_that_says_nothing_is_told(kit: Kit, tmp_path: Path) -> None:
    kit.tts.seconds_per_char = 0.0
    with pytest.raises(ConfigError, match=r"tts\.scripted: no audio for this text; does its voice"):
        await speak(tmp_path / "a.wav")
    assert files(tmp_path) == []
