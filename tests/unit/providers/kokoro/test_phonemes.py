"""Kokoro's symbols, and the pieces of a text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from vixio.providers.kokoro.phonemes import KokoroPhonemes
from vixio.providers.kokoro.provider import pieces
from vixio.providers.kokoro.vocabulary import NUMBERS, numbers


@pytest.fixture(scope="module")
def phonemes() -> Iterator[KokoroPhonemes]:
    with closing(KokoroPhonemes("kokoro")) as made:
        yield made


@pytest.mark.parametrize(
    ("language", "text", "symbols"),
    [
        ("en-US", "Hello, little bottle!", "həlˈO, lˈɪTᵊl bˈɑTᵊl!"),
        ("en-US", "I say: Chinese toys, now.", "I sˈA: ʧInˈiz tˈYz, nˈW."),
        ("en-US", "a button", "ɐ bˈʌtn".replace("ɐ", "ə")),
        ("en-GB", "Hello, there.", "həlˈQ, ðˈɛː."),
        ("fr", "Bonjour.", "bɔ\u0303ʒˈuʁ."),
        ("it", "Ciao, grazie.", "ʧˈao, ɡrˈaʦje."),
        ("zh-CN", "OK.", "ˌOkˈA."),
    ],
)
@pytest.mark.slow
def test_the_symbols_of_a_text(
    phonemes: KokoroPhonemes, language: str, text: str, symbols: str
) -> None:
    assert phonemes.of(text, language) == symbols
    assert set(symbols) <= NUMBERS.keys()


@pytest.mark.parametrize("text", ["It is on — or off", "It is on—or off", "It is on - or off"])
def test_a_dash_is_a_pause(phonemes: KokoroPhonemes, text: str) -> None:
    assert phonemes.of(text, "en-US") == phonemes.of("It is on, or off", "en-US")


def test_marks_around_words_stay(phonemes: KokoroPhonemes) -> None:
    assert phonemes.of("“OK!”", "en-US") == "“ˌOkˈA!”"


def test_the_vocabulary_is_the_models() -> None:
    assert len(NUMBERS) == 114
    assert numbers("a¤b") == [43, 44]
    assert {"$": NUMBERS.get("$"), "ᵻ": NUMBERS["ᵻ"], ";": NUMBERS[";"]} == {
        "$": None,
        "ᵻ": 177,
        ";": 1,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes.", ["Yes."]),
        ("Yes. No! Why?", ["Yes.", "No!", "Why?"]),
        ("Well, it is on.", ["Well, it is on."]),  # too short to be cut
        (
            "The lamp in the kitchen is on, and the fan too, and also the radio, as you see.",
            ["The lamp in the kitchen is on,", "and the fan too, and also the radio, as you see."],
        ),
        ("“你好！”他说。", ["“你好！”", "他说。"]),
        (
            "我已经把客厅的灯打开了，空调调到了二十六度，请问还有什么需要帮忙的吗？",
            ["我已经把客厅的灯打开了，", "空调调到了二十六度，", "请问还有什么需要帮忙的吗？"],
        ),
        ("  ", []),
    ],
)
def test_the_first_piece_is_short_and_the_others_grow(text: str, expected: list[str]) -> None:
    assert list(pieces(text)) == expected
