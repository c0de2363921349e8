from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.language.phrasebook import LANGUAGES
from vixio.language.phrasebook.numbers import MAX_NUMBER, Numbers, spoken_range
from vixio.language.phrasebook.stored import load_language
from vixio.language.phrasebook.text import tokenize

NUMBERS = {language: load_language(language).numbers for language in LANGUAGES}


def read(text: str, language: str) -> int | None:
    words = tokenize(text).folded().words
    for end, number in NUMBERS[language].read(words, 0):
        if end == len(words):
            return number
    return None


@pytest.mark.parametrize(
    ("language", "text", "number"),
    [
        ("en", "zero", 0),
        ("en", "thirty", 30),
        ("en", "thirty five", 35),
        ("en", "a hundred", 100),
        ("en", "one hundred", 100),
        ("en", "two hundred and fifty five", 255),
        ("en", "one thousand two hundred", 1200),
        ("en", "minus ten", -10),
        ("en", "42", 42),
        ("en", "thirty thirty", None),
        ("en", "five thirty", None),
        ("en", "a", None),
        ("en", "hundred", None),
        ("en", "twenty zero", None),
        ("zh", "零", 0),
        ("zh", "十", 10),
        ("zh", "十五", 15),
        ("zh", "三十", 30),
        ("zh", "三十五", 35),
        ("zh", "一百", 100),
        ("zh", "一百零五", 105),
        ("zh", "一百五", None),  # means 150 to some
        ("zh", "两百五十", 250),
        ("zh", "一千二百", 1200),
        ("zh", "一万零三百", 10300),
        ("zh", "负五", -5),
        ("zh", "三四", None),
        ("de", "null", 0),
        ("de", "eine", 1),
        ("de", "fünfunddreißig", 35),
        ("de", "fuenfunddreissig", 35),
        ("de", "Fünf und dreissig", 35),
        ("de", "hundert", 100),
        ("de", "einhundertfünf", 105),
        ("de", "zweihundert fünfzig", 250),
        ("de", "zwölftausenddreihundert", 12_300),
        ("de", "minus drei", -3),
        ("de", "drei vier", None),
        ("es", "veintidós", 22),
        ("es", "veintidos", 22),
        ("es", "treinta y una", 31),
        ("es", "cien", 100),
        ("es", "ciento cinco", 105),
        ("es", "quinientos cincuenta", 550),
        ("es", "mil doscientos", 1200),
        ("es", "dos tres", None),
        ("fr", "vingt et un", 21),
        ("fr", "vingt-deux", 22),
        ("fr", "soixante-dix", 70),
        ("fr", "septante", 70),
        ("fr", "soixante et onze", 71),
        ("fr", "quatre-vingts", 80),
        ("fr", "quatre-vingt-dix-neuf", 99),
        ("fr", "nonante-neuf", 99),
        ("fr", "deux cent cinquante", 250),
        ("fr", "mille deux cents", 1200),
        ("fr", "un deux", None),
        ("ja", "三十五", 35),
        ("ja", "百", 100),
        ("ja", "百五", 105),
        ("ja", "二百五十", 250),
        ("ja", "一万三百", 10300),
        ("ja", "マイナス五", -5),
        ("ja", "三四", None),
    ],
)
def test_a_number_in_words(language: str, text: str, number: int | None) -> None:
    assert read(text, language) == number


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_said_up_to_120_is_read(language: str) -> None:
    for number in range(121):
        for words in NUMBERS[language].say(number):
            assert read(" ".join(words), language) == number
            if language in {"de", "ja", "zh"}:  # which write no spaces
                assert read("".join(words), language) == number


@given(
    number=st.sampled_from(spoken_range(-MAX_NUMBER, MAX_NUMBER)),
    language=st.sampled_from(LANGUAGES),
)
def test_what_is_said_is_read(number: int, language: str) -> None:
    for words in NUMBERS[language].say(number):
        folded = tokenize(" ".join(words)).folded().words
        assert next(NUMBERS[language].read(folded, 0)) == (len(folded), number)


def test_the_work_is_bounded() -> None:
    """Words that can be read as pieces in many ways are no danger."""
    assert read("einundzwanzig" * 500 + "x", "de") is None
    assert read(" ".join(["einundzwanzig"] * 500), "de") is None


def test_a_table_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="below_100 has 2 numbers"):
        Numbers({"below_100": ["zero", "one"], "minus": "minus", "scales": []})


def test_a_wide_range_stays_small_and_within_its_bounds() -> None:
    wide = spoken_range(0, 50_000)
    assert len(wide) < 600
    assert set(range(101)) <= set(wide)
    assert spoken_range(7, 9) == [7, 8, 9]
    assert spoken_range(-2, 1) == [-2, -1, 0, 1]
