"""Sentences are read as a person would, and nothing of what is no number changes or gets lost."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.read_aloud import misread
from vixio.language.normalisation.normaliser import LONGEST, Normaliser, read

PLAIN = Normaliser()
LANGUAGES = st.sampled_from(["en", "en-GB", "zh", "zh-CN", "yue", "ja", "de", ""])
ODD = "0123456789０５٣ .,:;-–/'’\"”+=#%$€￥°℃@()[]~×aBkmGhsv点年第元路房是"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "share"), [("sentences.tsv", 1.0), ("more_sentences.tsv", 0.85)])
def test_sentences_are_read_as_a_person_would(name: str, share: float) -> None:
    unread = misread(name, None)
    wrong = misread(name, PLAIN)
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
    assert PLAIN.read(text, language) == text


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
    assert PLAIN.read(text, language)


def test_a_text_that_is_no_sentence_stays_as_it_is() -> None:
    text = "at 8:05 " * 126
    assert len(text) > LONGEST
    assert PLAIN.read(text, "en") == text


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
        ("20", "en", "20"),
    ],
)
def test_the_language_is_that_of_the_text(text: str, language: str, made: str) -> None:
    assert PLAIN.read(text, language) == made


def test_a_grammar_gets_the_places_of_numbers_alone() -> None:
    asked: list[str] = []

    def shout(text: str) -> str:
        asked.append(text)
        return text.upper()

    made = Normaliser(shout).read("Well, take 5 big apples, and then some 7 pears.", "en")
    assert asked == ["5 big apples,", "7 pears."]
    assert made == "Well, take 5 BIG APPLES, and then some 7 PEARS."


@pytest.mark.parametrize("made", [AssertionError("wetext"), "", "x"])
def test_a_grammar_that_fails_or_loses_words_is_not_believed(made: str | Exception) -> None:
    def broken(_: str) -> str:
        if isinstance(made, Exception):
            raise made
        return made

    assert Normaliser(broken).read("It takes 5 long minutes.", "en") == "It takes 5 long minutes."


def test_a_grammar_gets_no_more_than_it_has_time_for() -> None:
    asked: list[str] = []

    def note(text: str) -> str:
        asked.append(text)
        return text

    text = "pick one of 21 or then maybe 22 and so on to 23 of them in all 24 rooms " * 2
    assert Normaliser(note).read(text.strip(), "en") == text.strip()
    assert sum(map(len, asked)) <= 40


def test_without_the_extra_the_rules_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wetext", None)
    normaliser = Normaliser()
    normaliser.load()
    assert normaliser.read("#1 at 8:05", "en") == "number 1 at 8 oh 5"


def test_a_broken_extra_is_a_line_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "wetext", ModuleType("wetext"))
    normaliser = Normaliser()
    normaliser.load()
    assert [record.message for record in caplog.records] == ["wetext cannot be used"]
    assert normaliser.read("#1 at 8:05", "en") == "number 1 at 8 oh 5"
