"""The sentences do not depend on how the text is split into deltas, and have every word once."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vixio.language.text.splitter import Face, Words
from vixio.stations.speech_text import SpeechText, clean

# Text that is likely to be split at a bad place: marks, markup, parts of both, and plain words.
WORDS = """
Hello world the I No 3 14 . .. , ! ? 。 ， ！ ？ 、 「 」 “ ” " ' ( ) [ ] ](http://a.b/c) ![ * **
_ __ ~~ ` ``` - # > | \\ < <b> <br> </b> & &amp; &# ; : https://x.com/a_b http www. h w 😀 👨‍👩‍👧
🇩🇪 🇩 1️⃣ ❤️ ☺ © ©️ 🏽 … —— – 你好 今天天气 한국 สวัสดี नमस्ते । ؟ e.g. U.S. a.m. Mr. [happy] ~~~ ===
é ß Καλά; 5 ,000 a@b.de [^1] ． ３ ； ： ｡
"""
FRAGMENTS = [
    *WORDS.split(),
    " ",
    " ",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "# ",
    "> ",
    "| ",
    "\ufe0f",
    "\u200d",
    "z. B.",
]
texts = st.lists(st.sampled_from(FRAGMENTS) | st.characters(), max_size=60).map("".join)


def read(deltas: list[str]) -> list[Words | Face]:
    speech = SpeechText()
    pieces = [piece for delta in deltas for piece in speech.feed(delta)]
    return [*pieces, *speech.finish()]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(texts, st.lists(st.integers(1, 12), min_size=1, max_size=20))
def test_the_pieces_do_not_matter(text: str, sizes: list[int]) -> None:
    deltas = []
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        deltas.append(text[at : at + size])
        at, turn = at + size, turn + 1
    whole = read([text])
    assert read(deltas) == whole
    assert read(list(text)) == whole


@settings(max_examples=300, deadline=None)
@given(texts)
def test_every_word_is_there_once_and_in_order(text: str) -> None:
    if re.match(r"\s*\[[A-Za-z]+\]", text):
        text = f"x {text}"  # a leading tag is a face, not words
    shown = "".join(piece.shown for piece in read([text]) if isinstance(piece, Words))
    assert [*filter(str.isalnum, shown)] == [*filter(str.isalnum, clean(text))]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["He", "saw", "it.", "Then", "ok,", "好。", "and"]), max_size=30))
def test_joined_sentences_are_the_cleaned_text(words: list[str]) -> None:
    text = " ".join(words)
    shown = "".join(piece.shown for piece in read([text]) if isinstance(piece, Words))
    assert shown.replace(" ", "") == clean(text).replace(" ", "")


numbers = st.from_regex(r"\d{1,3}(,\d{3}){0,3}(\.\d{1,4}){0,2}|\d{1,2}:\d\d", fullmatch=True)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=12), st.sampled_from(["It is ", "大约", "about, "]))
def test_a_number_is_never_torn(found: list[str], before: str) -> None:
    text = "".join(f"{before}{number} units. " for number in found)
    spoken = [piece.spoken for piece in read(list(text)) if isinstance(piece, Words)]
    for number in found:
        assert any(number in sentence for sentence in spoken)


@settings(max_examples=300, deadline=None)
@given(texts)
def test_what_is_spoken_is_speakable(text: str) -> None:
    for piece in read([text]):
        if isinstance(piece, Words):
            assert any(map(str.isalnum, piece.spoken))
            assert piece.spoken == piece.spoken.strip()
            assert not re.search("[\ue000-\uf8ff\n😀👨🇩❤]", piece.shown + piece.spoken)


def _seconds(text: str) -> float:
    best = float("inf")
    for _ in range(3):
        speech = SpeechText()
        begin = time.process_time()
        for character in text:
            for _piece in speech.feed(character):
                pass
        best = min(best, time.process_time() - begin)
    return best


@pytest.mark.slow
def test_time_grows_with_the_length_only() -> None:
    # Eight times the text; a quadratic rescan would take 64 times as long.
    for unit in ("x", "[a ", "a, ", "<b ", "(a", "!", "&a", '"a'):
        assert _seconds(unit * (8000 // len(unit))) < 24 * _seconds(unit * (1000 // len(unit)))
