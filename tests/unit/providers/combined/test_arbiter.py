"""Which of two recognisers counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.chunk import Completeness
from vixio.providers.asr import Recognition
from vixio.providers.combined.arbiter import Arbiter, alike

LIGHT = "turn on the light"
NOTHING = Recognition("")
DECLINED = Recognition("", rejected=True)
ARBITER = Arbiter(sure=0.7, agreement=0.75)


def command(confidence: float | None, text: str = LIGHT) -> Recognition:
    return Recognition(text, confidence=confidence, language="en")


def free(text: str, confidence: float | None = None) -> Recognition:
    return Recognition(text, confidence=confidence)


@pytest.mark.parametrize("speech", [NOTHING, DECLINED, free("Tell me a joke.", 1.0)])
def test_a_sure_command_counts(speech: Recognition) -> None:
    assert ARBITER.is_sure(command(0.7))
    assert ARBITER.choose(command(0.7), speech) == command(0.7)


@pytest.mark.parametrize("confidence", [0.69, 0.0, None])
def test_a_less_sure_one_counts_if_the_other_hears_it_too(confidence: float | None) -> None:
    assert not ARBITER.is_sure(command(confidence))
    assert ARBITER.choose(command(confidence), free("Turn on the lied!")).text == LIGHT
    both = ARBITER.choose(command(confidence), free("Turn on the light.", 0.9))
    assert (both.text, both.confidence, both.language) == (LIGHT, 0.9, "en")
    other = free("Turn around and go home.", 0.4)
    assert ARBITER.choose(command(confidence), other) == other


def test_free_words_count_where_there_is_no_command() -> None:
    story = free("Tell me a story.", 0.8)
    assert ARBITER.choose(DECLINED, story) == story
    assert ARBITER.choose(NOTHING, story) == story


def test_what_neither_is_sure_of_is_declined() -> None:
    unsure = replace(DECLINED, guess=LIGHT)
    assert ARBITER.choose(command(0.6), DECLINED) == unsure
    assert ARBITER.choose(command(0.6), NOTHING) == unsure
    assert ARBITER.choose(unsure, NOTHING) == unsure
    assert ARBITER.choose(DECLINED, NOTHING) == DECLINED
    assert ARBITER.choose(NOTHING, DECLINED) == DECLINED
    assert ARBITER.choose(NOTHING, NOTHING) == NOTHING
    mumbled = replace(DECLINED, guess="Tell me a story.")
    assert ARBITER.choose(command(0.6), mumbled) == mumbled, (
        "free words are nearer to what was said"
    )
    assert ARBITER.choose(unsure, mumbled) == mumbled


def test_numbers_and_other_scripts_are_compared() -> None:
    assert alike("set the volume to 65%", "Set the volume to 65 percent.", 0.99)
    assert alike("把灯打开", "把灯打开。", 0.99)
    assert not alike("把灯打开", "今天天气怎么样", 0.75)
    assert not alike("turn on the lamp", "turn on the oven", 0.9)


@given(st.text(), st.text(), st.floats(0, 1))
def test_the_order_of_the_two_changes_little(one: str, other: str, least: float) -> None:
    assert alike(one, one, least)
    if alike(one, other, 1.0):
        assert alike(other, one, 1.0)


def test_a_long_text_is_compared_quickly() -> None:
    letters = "abcdefghij" * 400
    assert not alike("turn on the light", letters, 0.75)


def test_a_command_that_is_not_believed_is_not_complete_and_one_that_was_begun_is_known() -> None:
    unsure = Recognition("good night", confidence=0.5, completeness=Completeness.COMPLETE)
    nothing = Recognition("", rejected=True)
    assert Arbiter().choose(unsure, nothing) == replace(nothing, guess="good night")
    begun = Recognition("", rejected=True, completeness=Completeness.INCOMPLETE)
    assert Arbiter().choose(begun, nothing) == begun
