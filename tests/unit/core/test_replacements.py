"""Words that stand for others."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vixio.core.replacements import MAX_CHARS, MAX_PAIRS, Replacements

WORDS = Replacements.of(
    {
        "Vixio": "Vicksio",
        "weak see oh": "Vixio",
        "see": "look",
        "C++": "C plus plus",
        ".NET": "dot net",
        "it's": "it is",
        "小智": "小知",
        "小智机器人": "机器人",
        "빅시오": "빅쇼",
    }
)


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("Vixio, VIXIO and vixio's lamp", "Vicksio, Vicksio and Vicksio's lamp"),
        ("Vixios and preVixio, Vixio2 and Vixio_b", "Vixios and preVixio, Vixio2 and Vixio_b"),
        ("Weak  see\noh, see?", "Vixio, look?"),
        ("weak see ohm", "weak look ohm"),
        ("I know C++ and .NET.", "I know C plus plus and dot net."),
        ("It’s so, it's so", "it is so, it is so"),
        ("你好小智，我是Vixio吧", "你好小知，我是Vicksio吧"),
        ("小智机器人来了", "机器人来了"),
        ("빅시오는 좋아요", "빅쇼는 좋아요"),
        ("", ""),
    ],
)
def test_whole_words_are_replaced_once(text: str, replaced: str) -> None:
    assert WORDS(text) == replaced


def test_what_replaces_is_text() -> None:
    assert Replacements.of({"a": r"\1 \g<0> b", "b": "a"})("a b") == r"\1 \g<0> b a"
    assert Replacements()("a b") == "a b"


def _text(alphabet: str, size: int) -> st.SearchStrategy[str]:
    return st.text(st.sampled_from(alphabet), min_size=1, max_size=size).filter(str.strip)


@given(
    st.dictionaries(_text("abA'你好 ", 5), _text("xyz再见", 5), max_size=8),
    _text("abcAB'’你好吗 .", 40),
)
def test_nothing_is_left_to_replace(words: dict[str, str], text: str) -> None:
    assume(len({" ".join(word.lower().split()) for word in words}) == len(words))
    made = Replacements.of(words)
    assert hash(made) == hash(Replacements.of(words))
    once = made(text)
    assert made(once) == once


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({str(number): "a" for number in range(MAX_PAIRS + 1)}, "at most 100 words, found 101"),
        ({"a" * (MAX_CHARS + 1): "a"}, "1 to 80 characters"),
        ({"a": "b" * (MAX_CHARS + 1)}, "1 to 80 characters"),
        ({" ": "b"}, "found ' ': 'b'"),
        ({"Weak  See": "b", "weak see": "c"}, "'weak see' is the same as 'Weak  See'"),
    ],
)
def test_mistakes_say_what_is_wrong(words: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Replacements.of(words)
