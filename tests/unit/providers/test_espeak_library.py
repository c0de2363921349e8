"""How eSpeak NG tells other voices what a text sounds like."""

from __future__ import annotations

import unicodedata

import pytest

from vixio.providers.espeak_library import CALLING, Voice, load_espeak


def told(text: str, voice: str = "en-us") -> str:
    with CALLING:
        library = load_espeak()
        assert library.set_voice(Voice(voice, 165, 50, 100))
        return library.phonemes(text)


@pytest.mark.parametrize(
    ("text", "sounds"),
    [
        ("Hello, world!", "həlˈoʊ, wˈɜːld!"),
        ("yes", "jˈɛs"),
        ("Six. Two? Three; nine: five…", "sˈɪks. tˈuː? θɹˈiː; nˈaɪn: fˈaɪv…"),
        ("", ""),
        ("...", ""),
        ("b \0 b", "bˈiː bˈiː"),
    ],
)
def test_sounds_and_marks(text: str, sounds: str) -> None:
    assert told(text) == unicodedata.normalize("NFD", sounds)


def test_a_mark_inside_a_number_is_no_pause() -> None:
    assert "." not in told("It is 3.5 degrees")
    assert told("at 10:30").count(":") == 0


def test_chinese_marks_become_those_that_models_know() -> None:
    sounds = told("你好，世界。", "cmn")
    assert "," in sounds
    assert sounds.endswith(".")


def test_flags_of_a_language_switch_are_left_out() -> None:
    assert "(" not in told("你好 hello", "cmn")


def test_accents_are_characters_of_their_own() -> None:
    sounds = told("un bon vin blanc", "fr")
    assert sounds == unicodedata.normalize("NFD", sounds)
    assert "\u0303" in sounds


def test_markup_is_text() -> None:
    assert told("a <break time='60s'/> b") == told("a break time='60s'/ b")


def test_a_long_word_and_a_long_text_end() -> None:
    assert told("x" * 2000).count("ɛks") > 50  # what no word is that long for is left out
    assert told("word " * 500).count("wˈɜːd") == 500
