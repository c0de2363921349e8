from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.language.phrasebook import numbers


def _read(text: str, language: str = "en") -> int | None:
    words = text.split() if language == "en" else list(text)
    for end, number in numbers.read(words, 0, language):
        if end == len(words):
            return number
    return None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("zero", 0),
        ("thirty", 30),
        ("thirty five", 35),
        ("a hundred", 100),
        ("one hundred", 100),
        ("two hundred and fifty five", 255),
        ("one thousand two hundred", 1200),
        ("minus ten", -10),
        ("42", 42),
        ("thirty thirty", None),
        ("five thirty", None),
        ("a", None),
        ("hundred", None),
        ("twenty zero", None),
    ],
)
def test_english(text: str, number: int | None) -> None:
    assert _read(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("零", 0),
        ("十", 10),
        ("十五", 15),
        ("三十", 30),
        ("三十五", 35),
        ("一百", 100),
        ("一百零五", 105),
        ("两百五十", 250),
        ("一千二百", 1200),
        ("一万零三百", 10300),
        ("负五", -5),
        ("三四", None),
    ],
)
def test_chinese(text: str, number: int | None) -> None:
    assert _read(text, "zh") == number


@given(
    number=st.sampled_from(numbers.spoken_range(-numbers.MAX_NUMBER, numbers.MAX_NUMBER)),
    language=st.sampled_from(["en", "zh"]),
)
def test_what_is_said_is_read(number: int, language: str) -> None:
    for words in numbers.say(number, language):
        assert next(numbers.read(words, 0, language)) == (len(words), number)


def test_a_wide_range_stays_small_and_within_its_bounds() -> None:
    wide = numbers.spoken_range(0, 50_000)
    assert len(wide) < 600
    assert set(range(101)) <= set(wide)
    assert numbers.spoken_range(7, 9) == [7, 8, 9]
    assert numbers.spoken_range(-2, 1) == [-2, -1, 0, 1]
