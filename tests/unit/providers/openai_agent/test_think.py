"""Reasoning in the text is removed, however the stream is split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.providers.openai_agent.think import ThinkFilter


def _run(pieces: list[str]) -> str:
    thinking = ThinkFilter()
    return "".join([*(thinking.feed(piece) for piece in pieces), thinking.finish()])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>hm</think>\n\nHello", "Hello"),
        ("<thinking>a < b</thinking>Yes", "Yes"),
        ("Hello <think>hm</think>there", "Hello there"),
        ("<think>never closed", ""),
        ("hm</think>Hello", "hmHello"),
        ("3 < 4 and <b>bold</b> <", "3 < 4 and <b>bold</b> <"),
        ("<think></think>", ""),
        ("<think>a</think><think>b</think>c", "c"),
        ("ends with <thin", "ends with <thin"),
    ],
)
def test_every_cut_gives_the_same(text: str, said: str) -> None:
    assert _run([text]) == said
    assert _run(list(text)) == said
    for at in range(len(text)):
        assert _run([text[:at], text[at:]]) == said


@given(st.lists(st.text(alphabet="<think/>ing ab", max_size=6)))
def test_cutting_never_matters(pieces: list[str]) -> None:
    assert _run(pieces) == _run(["".join(pieces)])


@given(st.text(alphabet="abc <.\n"))
def test_text_without_tags_passes_whole(text: str) -> None:
    assert _run(list(text)) == text.lstrip()


def test_text_is_passed_on_at_once() -> None:
    thinking = ThinkFilter()
    assert thinking.feed("Good morning") == "Good morning"
    assert thinking.feed(", 3 <") == ", 3 "
    assert thinking.feed(" 4") == "< 4"
