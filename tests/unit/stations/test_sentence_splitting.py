"""The ends of sentences in many languages."""

from __future__ import annotations

import pytest

from vixio.language.text.boundaries import MARK, judge
from vixio.language.text.splitter import Limits, Words
from vixio.stations.speech_text import SpeechText

NO_FIRST_CLAUSE = Limits(first_clause=10**6)


def split(text: str, limits: Limits = NO_FIRST_CLAUSE) -> list[str]:
    speech = SpeechText(limits)
    pieces = [*speech.feed(text), *speech.finish()]
    return [piece.spoken for piece in pieces if isinstance(piece, Words)]


def given_after(text: str, limits: Limits = NO_FIRST_CLAUSE) -> dict[str, int]:
    """Return each sentence with the number of characters that had to be received for it."""
    speech = SpeechText(limits)
    return {
        piece.spoken: count
        for count, character in enumerate(text, 1)
        for piece in speech.feed(character)
        if isinstance(piece, Words)
    }


# A bar marks the end of a sentence.
@pytest.mark.parametrize(
    "marked",
    [
        # English
        "Mr. Smith met Dr. Jones in the U.S. capital.|Then he left.",
        "It is 3.14 or 1,000.50 or 3.5.1.|Next.",
        "We meet at 10:30 a.m. on Monday.|Bring e.g. fruit, i.e. apples.",
        "No. 5 is alive.|No.|I do not agree.",
        "He lives on St. John St. near Mt. Hood.|It rains.",
        "Cats vs. dogs, approx. five of them.|Fine.",
        "Apples, pears, etc. are fruit.|Bread, milk, etc.|The rest is here.",
        "J. R. R. Tolkien wrote it.|Read it.",
        "She works at Apple Inc. in Cupertino.|He works at Apple Inc.|They are happy.",
        "It was made in the U.S.|The end.",
        "Wait... what?|I see.",
        "It is, really?!|Yes!!!|Good.",
        "“Stop!” he said.|“Go.”|She went.",
        'He said "Hi."|(Really.)|Then "why?" she asked.',
        "Open main.py, report.final.pdf and ~/.bashrc.|Done.",
        "Go to example.com.|Or b.example!|Or ask a.b@c.example.|Bye.",
        "1. Open it.|2. Close it.",
        "a. First.|b. Second.",
        "Born in 1990.|Died in 2020.",
        "On Jan. 5, 2024, it rained.|So do I.|Then sun.",
        "It is 25.|Then it rose.",
        "Version 2. released early.",
        # German
        "Das ist z. B. gut, d. h. bzw. z.B. fein.|Wir gehen.",
        "Am 3. Oktober ist der 2. Platz frei.|Schön!",
        "Äpfel, Birnen usw. sind da.|Brot usw.|Das war es.",
        # Chinese, Japanese, Korean
        "今天3.5度！|好吗？！|我觉得……还行。|走。",
        "他说：“你好。”|然后走了。",
        "「今日は。|元気？」|と言った。",
        "안녕하세요.|잘 지내세요?|네!",
        "我用OK.|然后走。",
        "１，０００和３．５都行。|好。",
        # others
        "هل أنت بخير؟|نعم، أنا بخير۔|شكرا.",
        "इसका अर्थ है।|ठीक है॥|हाँ।",
        "Τι κάνεις;|Καλά.",
        "Բարեւ։|Ինչպես ես։",
        "እንዴት ነህ፧|ደህና ነኝ።",
        "မင်္ဂလာပါ။|နေကောင်းလား။",
        "Это т. е. пример и т.д. там.|Да.",
        "¿Qué tal?|¡Muy bien!|El Sr. López vino.",
    ],
)
def test_sentences(marked: str) -> None:
    text = marked.replace("|", " " if " " in marked else "")
    assert split(text) == marked.split("|")


@pytest.mark.parametrize(
    ("text", "sentence", "received"),
    [
        ("你好。我是小智。", "你好。", 3),  # at once
        ("“你好。”我说。", "“你好。”", 6),  # a closing quote is expected
        ("你好！我是。", "你好！", 4),
        ("It is great. It", "It is great.", 13),  # too long for an abbreviation
        ("It is ok. It", "It is ok.", 11),  # short enough for one: "ok. five"
        ("It is 3. It is", "It is 3.", 13),
        ("Wow! It", "Wow!", 5),
    ],
)
def test_how_soon_a_sentence_is_given(text: str, sentence: str, received: int) -> None:
    assert given_after(text)[sentence] == received


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Sure, I can help you with that, of course, my friend.", None),
        ("Let me think about it, and then, maybe, we go.", ["Let me think about it,"]),
        ("当然可以，我来帮你查一下，请稍等。", None),
        ("好，我来帮你查一下，请稍等。", ["好，我来帮你查一下，"]),
        ("It costs about 1,000,000 dollars, or more, I think.", None),
        ("On January 5, 2024, we met, and left.", ["On January 5, 2024,"]),
        ("At half past 10:30 we met: all of us, and left.", ["At half past 10:30 we met:"]),
        ("The city (Paris, France, Europe) is big, and fine.", None),
        ("I was there — twice, in fact.", None),
    ],
)
def test_the_first_clause_alone_comes_early(text: str, pieces: list[str] | None) -> None:
    found = split(text, Limits())
    assert len(found) == 2
    if pieces:
        assert found[0] == pieces[0]
    assert found[0][-1] in ",，:—"
    assert len(found[0]) >= 5


def test_later_sentences_are_whole() -> None:
    text = "Well, hello there, friend. Now, as I said before, this one is whole, and long."
    assert split(text, Limits())[-1] == text.split(". ")[1]


@pytest.mark.parametrize(
    ("text", "longest"),
    [
        ("word " * 200, 200),
        ("many words here, " * 50, 200),
        ("很长的句子没有标点" * 40, 80),
        ("很长的句子，没有句号，" * 40, 80),
        ("x" * 1000, 200),
        ("สวัสดีครับ" * 100, 200),
    ],
)
def test_a_sentence_that_does_not_end_is_cut(text: str, longest: int) -> None:
    found = split(text)
    assert len(found) > 3
    assert max(map(len, found)) <= longest
    assert "".join(found).replace(" ", "") == text.replace(" ", "")
    if " " in text or "，" in text:
        assert all(text.startswith(sentence[:4]) for sentence in found)


def test_a_cut_does_not_tear_a_number_or_a_letter_and_its_accents() -> None:
    assert any("1234567890" in piece for piece in split("x" * 195 + "1234567890" + "y" * 150))
    combining = split("e\u0301" * 300)
    assert all(not piece.startswith("\u0301") for piece in combining)


def test_every_mark_is_behind_one_once_judged() -> None:
    marks = [chr(code) for code in range(0x110000) if MARK.match(chr(code))]
    assert len(marks) > 100
    for mark in marks:
        for behind in ("", "a", "5", " ", "”", mark):
            for before in ("a", "5"):
                text = f"{before}{mark}{behind}"
                for quoted in (False, True):
                    assert judge(text, 1, quoted=quoted, final=True).end > 1


def test_thai_phrases_are_given_before_the_longest_length() -> None:
    text = "สวัสดีครับ ผมชื่อสมชาย ยินดีที่ได้รู้จักครับ วันนี้อากาศดีมาก เราไปเดินเล่นกันไหม ขอบคุณมากครับ"
    found = split(text)
    assert len(found) >= 2
    assert " ".join(found) == text


@pytest.mark.parametrize("unit", ["a", "!", ".", "[", "`", "<b ", "(", "😀", "x😀", "|", "。", '"'])
def test_nothing_waits_without_bound(unit: str) -> None:
    speech = SpeechText()
    for _ in range(20):
        for _piece in speech.feed(unit * 500):
            pass
        waiting = len(speech._markdown._buffer) + len(speech._splitter._text)
        assert waiting < 2000
        assert len(speech._atoms._emoji) + len(speech._atoms._atoms) < 1000
