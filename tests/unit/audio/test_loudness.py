"""Voices come out alike, none clips, nothing clicks, and silence stays silent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.audio.loudness import CEILING, MAX_VOICES, Leveller, VoiceLevel, VoiceLevels
from vixio.cli.diagnostics.spoken import spoken
from vixio.core.audio import LISTEN_RATE

TARGET = -20.0
TEXT = "The volume is now at thirty percent. Please tell me what you want to do next."

Samples = npt.NDArray[np.float64]


def decibels(samples: Samples) -> float:
    """The RMS of the speech in dB of full scale, pauses left out."""
    blocks = (samples[: len(samples) // 160 * 160] / 32_768).reshape(-1, 160)
    power = (blocks**2).mean(axis=1)
    return float(10 * np.log10(power[power > power.max() / 30].mean()))


def levelled(
    samples: Samples, level: VoiceLevel, piece: int = 1_920, rate: int = LISTEN_RATE
) -> Samples:
    pcm = np.clip(np.rint(samples), -32_768, 32_767).astype("<i2").tobytes()
    leveller = Leveller(TARGET, level, rate)
    out = b"".join(leveller.feed(pcm[at : at + piece]) for at in range(0, len(pcm), piece))
    heard = np.frombuffer(out + leveller.finish(), dtype="<i2").astype(np.float64)
    assert len(heard) == len(samples)
    assert leveller.finish() == b""
    return heard


@pytest.fixture
async def voice() -> Samples:
    pcm = await spoken(TEXT)
    speech = np.frombuffer(pcm, dtype="<i2").astype(np.float64)
    return speech * 10 ** ((-20 - decibels(speech)) / 20)


def tone(seconds: float, amplitude: float, hertz: float = 200.0) -> Samples:
    time = np.arange(round(seconds * LISTEN_RATE)) / LISTEN_RATE
    wave: Samples = amplitude * np.sin(2 * np.pi * hertz * time)
    return wave


@pytest.mark.parametrize("piece", [320, 1_920, 1_000_000])
def test_two_voices_far_apart_come_out_alike(voice: Samples, piece: int) -> None:
    levels = VoiceLevels()
    soft, loud = voice * 10 ** (-8 / 20), voice * 10 ** (4 / 20)
    assert decibels(loud) - decibels(soft) == pytest.approx(12, abs=0.3)
    heard = [
        levelled(soft, levels.of("soft"), piece),
        levelled(loud, levels.of("loud"), piece),
        levelled(soft, levels.of("soft"), piece),
    ]
    for each in heard:
        assert abs(decibels(each) - TARGET) < 2.5
        assert np.abs(each).max() <= CEILING * 32_768 + 1
    assert abs(decibels(heard[0]) - decibels(heard[1])) < 3.0
    # What is known of a voice holds from the first sound on.
    begun = slice(8_000, 8_000 + 4_800)  # after half a second of silence
    first = [decibels(levelled(each, levels.of(name), piece)[begun])
             for each, name in ((soft, "soft"), (loud, "loud"))]  # fmt: skip
    assert abs(first[0] - first[1]) < 1.0


@pytest.mark.parametrize("loud", [3.0, 12.0, 30.0])
def test_nothing_clips(voice: Samples, loud: float) -> None:
    """A voice that is remembered as a soft one shouts."""
    level = VoiceLevel(10 ** (-35 / 10), 60.0)
    heard = levelled(voice * 10 ** (loud / 20), level)
    assert np.abs(heard).max() <= CEILING * 32_768 + 1


def test_nothing_clicks_at_the_borders_of_pieces() -> None:
    """The gain of a steady tone changes by no step, while it is being found and at a peak."""
    level = VoiceLevel()
    soft = tone(3.0, 1_500.0)
    soft[20_000:20_400] *= 12  # a peak that the limiter has to hold
    for piece in (320, 1_920, 3_333):
        heard = levelled(soft, level, piece)
        # A sine's second difference is small; a step of the gain stands out of it.
        bend = np.abs(np.diff(heard, 2))
        smooth = (2 * np.pi * 200 / LISTEN_RATE) ** 2 * np.abs(heard).max()
        apart = np.delete(bend, slice(19_998, 20_402))
        assert apart.max() < 2.5 * smooth + 4


def test_how_it_is_cut_changes_nothing(voice: Samples) -> None:
    known = VoiceLevel(10 ** (-28 / 10), 60.0)
    whole = levelled(voice, VoiceLevel(known.mean_square, known.seconds), len(voice) * 2)
    for piece in (2, 330, 640, 4_801):
        heard = levelled(voice, VoiceLevel(known.mean_square, known.seconds), piece)
        assert decibels(heard) == pytest.approx(decibels(whole), abs=1.5)


def test_silence_is_not_amplified() -> None:
    level = VoiceLevel(10 ** (-32 / 10), 60.0)  # wants 12 dB more
    generator = np.random.default_rng(1)
    hiss = generator.normal(0, 32_768 * 10 ** (-60 / 20), LISTEN_RATE * 2)
    heard = levelled(hiss, level)
    assert np.sqrt((heard**2).mean()) <= 1.05 * np.sqrt((np.rint(hiss) ** 2).mean())
    assert level.mean_square == 10 ** (-32 / 10)  # silence says nothing of a voice
    assert not levelled(np.zeros(16_000), VoiceLevel()).any()


def test_the_noise_in_a_voices_pauses_is_not_amplified(voice: Samples) -> None:
    noise = np.random.default_rng(2).normal(0, 40, 16_000)
    soft = np.concatenate([voice * 0.25, noise, voice * 0.25])
    heard = levelled(soft, VoiceLevel())
    pause = slice(len(voice) + 5_000, len(voice) + 15_000)
    assert np.sqrt((heard[pause] ** 2).mean()) < 45
    assert decibels(heard[: len(voice)]) > decibels(voice * 0.25) + 8


def test_a_voice_that_changes_is_followed(voice: Samples) -> None:
    level = VoiceLevel(10 ** (-8 / 10), 60.0)
    heard = [levelled(voice * 0.5, level) for _ in range(3)]
    assert abs(decibels(heard[-1]) - TARGET) < 1.5


@pytest.mark.parametrize("rate", [8_000, 22_050, 24_000, 44_100, 48_000])
def test_every_rate(rate: int) -> None:
    time = np.arange(rate)
    heard = levelled(600 * np.sin(2 * np.pi * 300 / rate * time), VoiceLevel(), 1_234, rate)
    assert np.abs(heard[rate // 2 :]).max() > 1_500


@given(
    st.lists(st.binary(max_size=3_000), max_size=12),
    st.floats(0, 1),
    st.sampled_from([8_000, 22_050]),
)
def test_whatever_comes_every_sample_comes_out(
    pieces: list[bytes], mean_square: float, rate: int
) -> None:
    leveller = Leveller(TARGET, VoiceLevel(mean_square, 1.0 if mean_square else 0.0), rate)
    out = b"".join(map(leveller.feed, pieces)) + leveller.finish()
    assert len(out) == sum(map(len, pieces)) // 2 * 2
    if out:
        peak = np.abs(np.frombuffer(out, "<i2").astype(np.int32)).max()
        assert peak <= CEILING * 32_768 + 1


def test_it_remembers_a_bounded_number_of_voices() -> None:
    levels = VoiceLevels()
    first = levels.of("first")
    for number in range(MAX_VOICES):
        levels.of(str(number))
    assert levels.of("first") is not first
