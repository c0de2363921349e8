"""Sentences are read as a person would, and nothing of what is no number changes or gets lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.read_aloud import misread
from vixio.language.normalisation.normaliser import LONGEST, read

LANGUAGES = st.sampled_from(["en", "en-GB", "zh", "zh-CN", "yue", "ja", "de", ""])
ODD = "0123456789０５٣ .,:;-–/'’\"”+=#%$€￥°℃@()[]~×aBkmGhsv点年第元路房是"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "share"), [("sentences.tsv", 1.0), ("more_sentences.tsv", 0.85)])
def test_sentences_are_read_as_a_person_would(name: str, share: float) -> None:
    unread = misread(name, None)
    wrong = misread(name, read)
    rows = 60 if name == "sentences.tsv" else 108
    assert len(wrong) <= rows * (1 - share), "\n".join(wrong)
    assert len(unread) > rows / 2, (
        "eSpeak NG alone reads these badly: the rules make the difference"
    )


@given(
    st.text(
        st.characters(exclude_categories=["Nd"], exclude_characters="@#%$€£¥￥℃℉°."), max_size=200
    ),
    LANGUAGES,
)
def test_a_text_without_digit_or_symbol_is_unchanged(text: str, language: str) -> None:
    assert read(text, language) == text


@given(st.text(st.sampled_from(ODD), max_size=120), LANGUAGES)
def test_no_text_raises_or_comes_to_nothing(text: str, language: str) -> None:
    made = read(text, language)
    assert any(map(str.isalnum, made)) == any(map(str.isalnum, text))


@given(
    st.lists(st.sampled_from(["hello", "Kitchen", "厨房", "了", "übrigens"]), min_size=1),
    st.lists(st.text(st.sampled_from("0123456789.,:-/%#"), max_size=8)),
    LANGUAGES,
)
def test_words_keep_their_order(words: list[str], numbers: list[str], language: str) -> None:
    text = " ".join(
        f"{word} {number}" for word, number in zip(words, [*numbers, *words], strict=False)
    )
    kept = re.findall("hello|Kitchen|厨房|了|übrigens", read(text, language))
    assert kept == re.findall("hello|Kitchen|厨房|了|übrigens", text)


@pytest.mark.parametrize(
    "text",
    [
        "1" * LONGEST,
        "1," * 500,
        "1.2" * 330,
        "-" * 999 + "1",
        "a@" * 500,
        "a." * 500,
        "$1." * 330,
        "(555) 5" * 140,
        "+1 2" * 250,
        "1:" * 500,
        "'5\"" * 330,
        "A1-" * 330,
        "第" * 999 + "1",
        "1" * 100_000,
        "点" * 500 + "1" * 500,
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_text_takes_long(text: str, language: str) -> None:
    assert read(text, language)


def test_a_text_that_is_no_sentence_stays_as_it_is() -> None:
    text = "at 8:05 " * 126
    assert len(text) > LONGEST
    assert read(text, "en") == text


@pytest.mark.parametrize(
    ("text", "language", "made"),
    [
        ("call ５５５-０１２３", "en", "call ５５５-０１２３"),
        ("第１２个", "zh", "第十二个"),
        ("room 5 at 8:05", "de", "room 5 at 8:05"),
        ("5時8分", "ja", "5時8分"),
        ("明日は5時", "zh", "明日は5時"),
        ("我有5个", "en", "我有五个"),
        ("at 8:05", "zh-CN", "at 8 oh 5"),
        ("20", "zh", "二十"),
        ("26°C, 50km/h", "zh", "二十六摄氏度, 每小时五十公里"),
        ("20", "en", "20"),
    ],
)
def test_the_language_is_that_of_the_text(text: str, language: str, made: str) -> None:
    assert read(text, language) == made
