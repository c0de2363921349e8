"""Faces by a sentence's own words: whole phrases, none behind a negation."""

from __future__ import annotations

import pytest

from vixio.core.emotions import EMOTIONS
from vixio.language.text.face_words import _CHINESE, _ENGLISH, emotion_of_words


@pytest.mark.parametrize(
    ("sentence", "emotion"),
    [
        ("I'm sorry, I did not get that.", "sad"),
        ("I’m glad you asked!", "happy"),
        ("Congratulations to both of you.", "happy"),
        ("Haha, that was a good one.", "laughing"),
        ("Okay, let me see.", "thinking"),
        ("OH NO!", "shocked"),
        ("Be careful, the pan is hot.", "shocked"),
        ("Don't worry about it.", "relaxed"),
        ("I don't understand, sorry.", "confused"),
        ("Good, no rain. Sorry!", "sad"),
        ("非常抱歉，我没听懂。", "sad"),
        ("特别抱歉。", "sad"),
        ("不好意思，我弄错了。", "embarrassed"),
        ("恭喜你考上大学！", "happy"),
        ("哈哈哈，真有意思。", "laughing"),
        ("嗯，让我想想。", "thinking"),
        ("小心台阶。", "shocked"),
        ("没关系，抱歉的是我。", "relaxed"),
        ("OK，恭喜 Anna！", "happy"),
    ],
)
def test_a_phrase_has_a_face(sentence: str, emotion: str) -> None:
    assert emotion_of_words(sentence) == emotion


@pytest.mark.parametrize(
    "sentence",
    [
        "The capital of France is Paris.",
        "There is no need to be sorry.",
        "That is not funny.",
        "You don't have to say sorry.",
        "It is never really good news.",
        "He left the place in a sorry state.",
        "The sorrymaker and the wowser wish you a shalala.",
        "An alolha, a hmmm-hm and a lol-cat.",
        "Let me go and see.",
        "不用抱歉。",
        "你没必要说对不起。",
        "别小心眼。",
        "他小心翼翼地走。",
        "我不小心打翻了水。",
        "一点也不好笑。",
        "他在加油站买了一瓶娃哈哈。",
        "残酷的青蛙。",
        "とても美味しいです。",
        "Das tut mir leid.",
        "",
    ],
)
def test_no_phrase_has_none(sentence: str) -> None:
    assert emotion_of_words(sentence) is None


@pytest.mark.parametrize(("rows", "separator"), [(_ENGLISH, ", "), (_CHINESE, " ")])
def test_every_phrase_is_found(rows: dict[str, str], separator: str) -> None:
    phrases = [phrase for row in rows.values() for phrase in row.split(separator)]
    assert sorted(phrases) == sorted(set(phrases))
    assert set(rows) <= {*EMOTIONS, ""}
    for name, row in rows.items():
        for phrase in row.split(separator):
            assert emotion_of_words(f"{phrase}!".capitalize()) == (name or None), phrase
