"""Phonemes for Piper's voices."""

from __future__ import annotations

from contextlib import closing

import pytest

from vixio.core.errors import ProviderUnavailable
from vixio.providers.piper.config import PiperVoiceConfig
from vixio.providers.piper.provider import EspeakPhonemes, Letters


def phonemes_of(voice: str, *clusters: list[str]) -> EspeakPhonemes:
    return EspeakPhonemes(
        "piper",
        PiperVoiceConfig.model_validate(
            {
                "audio": {"sample_rate": 22_050},
                "espeak": {"voice": voice},
                "phoneme_id_map": {},
                "vowel_clusters": clusters,
            }
        ),
    )


@pytest.mark.slow
def test_clusters_of_vowels_are_one_phoneme() -> None:
    with closing(phonemes_of("en-us", ["a", "ɪ"], ["a", "ɪ", "ɚ"])) as phonemes:
        assert list(phonemes.of("I. Fire!")) == [["ˈ", "aɪ", "."], ["f", "ˈ", "aɪɚ", "!"]]


@pytest.mark.slow
def test_the_phonemes_are_those_of_pipers_own_espeak() -> None:
    """As piper-tts 1.8 returns them for the same text."""
    with closing(phonemes_of("en-us")) as phonemes:
        found = phonemes.of("Hello, world! It is twelve; isn't it? That is all")
        assert ["".join(each) for each in found] == [
            "həlˈoʊ, wˈɜːld!",
            "ɪɾ ɪz twˈɛlv; ˈɪzənt ɪt?",
            "ðæt ɪz ˈɔːl",
        ]


@pytest.mark.slow
def test_numbers_are_read_in_english_alone() -> None:
    with closing(phonemes_of("en-us")) as english, closing(phonemes_of("de")) as german:
        price, written = (
            ["".join(*english.of(each))] for each in ("$2.50", "2 dollars and 50 cents")
        )
        assert price == written
        assert "".join(*german.of("$2")) != "".join(*german.of("2 dollars"))


@pytest.mark.slow
def test_a_voice_that_espeak_does_not_have_is_named() -> None:
    with pytest.raises(ProviderUnavailable, match="piper: eSpeak NG has no voice no-such"):
        phonemes_of("no-such")


def test_letters_have_their_accents_apart() -> None:
    assert list(Letters().of("né")) == [["n", "e", "\u0301"]]
