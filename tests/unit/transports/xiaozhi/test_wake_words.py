from __future__ import annotations

import pytest

from vixio.core.whole_phrases import bare
from vixio.transports.xiaozhi.wake_words import DEFAULT_WAKE_WORDS, WakeWords


@pytest.mark.parametrize("word", DEFAULT_WAKE_WORDS)
def test_a_wake_word_is_known_however_it_is_written(word: str) -> None:
    words = WakeWords()
    assert word in words
    assert f" {word.upper()}! " in words
    assert word.replace(" ", ",") in words


@pytest.mark.parametrize("text", ["turn on the light", "你好", "hi", "", "!!!", "小智你好吗"])
def test_other_words_are_typed_ones(text: str) -> None:
    assert text not in WakeWords()


def test_full_width_letters_are_letters() -> None:
    assert "Ｈｉ，ＥＳＰ" in WakeWords()


def test_a_word_without_letters_matches_nothing() -> None:
    assert "..." not in WakeWords(["...", ""])
    assert bare("...") == ""
