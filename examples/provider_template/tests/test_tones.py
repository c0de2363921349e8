"""What only this voice does: its tones, its settings, and that Vixio finds it."""

from __future__ import annotations

import array
import asyncio
from itertools import pairwise

import pytest
from pydantic import ValidationError
from vixio_tones.tts import FACTORY, TonesSettings, TonesTTSProvider, tone

from vixio.providers.registry import resolve


def test_vixio_finds_it_by_its_name() -> None:
    assert resolve("tts", "tones") is FACTORY


def test_a_letter_has_a_pitch() -> None:
    settings = TonesSettings(lowest=400, letter_ms=1_000, sample_rate=16_000)
    for step, hertz in ((0, 400), (12, 800), (24, 1_600)):
        samples = array.array("h", tone(settings, step))
        assert len(samples) == 16_000
        rising = sum(a < 0 <= b for a, b in pairwise(samples))
        assert rising == pytest.approx(hertz, abs=2)
        assert samples[0] == samples[-1] == 0


def test_the_same_text_sounds_the_same() -> None:
    async def say(text: str) -> bytes:
        voice = TonesTTSProvider(TonesSettings(letter_ms=50))
        await voice.start()
        return b"".join([pcm async for pcm in voice.synthesize(text)])

    assert asyncio.run(say("Abc")) == asyncio.run(say("aBC")) != asyncio.run(say("abd"))
    assert len(asyncio.run(say("a b"))) == 3 * 2 * 800


@pytest.mark.parametrize("wrong", [{"letter_ms": 0}, {"lowest": 5}, {"voice": "anna"}])
def test_a_wrong_setting_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TonesSettings.model_validate(wrong)
