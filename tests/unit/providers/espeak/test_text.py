"""Cleaning, cutting and choosing the language of what is spoken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.providers.espeak.provider import PIECE_COST, split
from vixio.providers.spoken_text import clean, spoken_language


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Hello.", "Hello."),
        (" a\0b\x07c\n", "a b c"),
        ("half \ud800 pair", "half   pair"),
        ("<b>bold</b> & more", "<b>bold</b> & more"),
        ("5", "5"),
        ("", ""),
        (" …?! ", ""),
        ("😀 ❤️ 👍🏽", ""),
        ("。！", ""),
    ],
)
def test_clean(text: str, kept: str) -> None:
    assert clean(text) == kept


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("hello", "", ""),
        ("hello", "de-DE", "de-DE"),
        ("你好", "", "zh"),
        ("你好", "en-US", "zh"),
        ("say 你好 now", "en", "zh"),
        ("你好", "zh-HK", "zh-HK"),
        ("hello", "zh-CN", "zh-CN"),
        ("今日はいい天気", "", "ja"),
        ("今日はいい天気", "en", "ja"),
        ("Привет", "", ""),
    ],
)
def test_spoken_language(text: str, language: str, expected: str) -> None:
    assert spoken_language(text, language) == expected


def test_what_is_short_stays_whole() -> None:
    assert split("One. Two, three! Four?") == ["One. Two, three! Four?"]
    assert split("") == []


def test_cut_behind_sentences_then_clauses_then_words() -> None:
    sentence = "This one is some sixty characters long, as far as I can count. "
    assert all(each.endswith("count.") for each in split(sentence * 20))
    clause = "and then it went on, "
    assert all(each.endswith(",") for each in split(clause * 40))
    assert {word for each in split("word " * 200) for word in each.split()} == {"word"}
    assert all(each.endswith("。") for each in split("好的，没问题。" * 60))


def test_a_number_is_not_cut_at_its_point() -> None:
    pieces = split("about 3.14159 or so " * 60)
    assert all(
        each in {"about", "3.14159", "or", "so"} for piece in pieces for each in piece.split()
    )


def test_what_takes_long_to_say_is_cut_shorter() -> None:
    assert max(map(len, split("9" * 1000))) <= PIECE_COST // 4
    assert max(map(len, split("好" * 1000))) <= PIECE_COST // 4
    assert max(map(len, split("x" * 1000))) == PIECE_COST


@given(st.text(max_size=1500))
def test_nothing_is_lost_and_every_piece_fits(text: str) -> None:
    pieces = split(text)
    assert all(each and len(each) <= PIECE_COST for each in pieces)
    if len(text) > PIECE_COST:
        assert "".join("".join(pieces).split()) == "".join(text.split())
