"""Text that eSpeak NG can be given."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.providers.espeak_process.cleaning import MAX_MARKS, MAX_WORD, speakable


@pytest.mark.parametrize(
    "text",
    [
        "The volume is now at 30%.",
        "It is 21 °C, or 70 °F; π ≈ 3.14 → done (№ 5, 3 €, ½).",
        "Größe, façade, señor, Đặng Thị Ngọc, Ελληνικά, Привет!",
        "音量已经调到百分之三十。今日はいい天気、안녕하세요",
        "مرحبا بالعالم، كَيْفَ حَالُكَ؟ می‌خواهم",
        "בְּרֵאשִׁית בָּרָא, नमस्ते दुनिया क्‍ष, สวัสดีครับ ที่นี่",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert speakable(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\u28ffb", "a b"),
        ("\u24dc \u2460 \uff21", "m 1 A"),
        ("ok \U0001f600\U0001f44d\U0001f3fd done", "ok     done"),
        ("x\u200b\u2066y\ufeffz\u00ad", "xyz"),
        ("\ue000private\U000f0000", "private"),
        ("half \ud800 pair\x07", "half   pair "),
        ("\u0378unassigned", " unassigned"),
        ("1\ufe0f\u20e3", "1"),
        ("e" + "\u0316" * 50, "e" + "\u0316" * MAX_MARKS),
        ("x" * 100, f"{'x' * 40} {'x' * 40} {'x' * 20}"),
        ("\u0335\u031b-\u032e", "-"),
        ("a `b` \uff40c", "a  b   c"),
        ("(-m) well-known -5 a - b -", "( m) well-known -5 a - b -"),
        ("", ""),
    ],
)
def test_what_cannot_be_spoken_goes(text: str, kept: str) -> None:
    assert speakable(text) == kept


@given(st.text(max_size=300))
def test_any_text_comes_out_bounded_and_stays_so(text: str) -> None:
    cleaned = speakable(text)
    assert speakable(cleaned) == cleaned
    categories = [unicodedata.category(character) for character in cleaned]
    assert not {"Cc", "Cs", "Cn", "Co", "Me"} & set(categories)
    assert all(len(word) <= MAX_WORD for word in cleaned.split() if word.isascii())
