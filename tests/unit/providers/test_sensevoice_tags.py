"""The tags of SenseVoice models are parsed and removed from the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.providers.sensevoice_tags import TaggedText, parse_tags

LINE = "<|zh|><|HAPPY|><|Speech|><|withitn|>今天天气真好。"


@pytest.mark.parametrize(
    ("raw", "parsed"),
    [
        (LINE, TaggedText("今天天气真好。", "zh", "happy")),
        ("<|yue|><|NEUTRAL|><|Speech|><|woitn|>早晨", TaggedText("早晨", "yue", "neutral")),
        ("<|en|><|EMO_UNKNOWN|><|Speech|><|withitn|>Hello.", TaggedText("Hello.", "en")),
        (
            "<|ja|><|SAD|><|Laughter|><|withitn|>そうです",
            TaggedText("そうです", "ja", "sad", ("laughter",)),
        ),
        ("<|ko|><|FEARFUL|><|BGM|>안녕", TaggedText("안녕", "ko", "fearful", ("music",))),
        # Missing values are empty.
        ("", TaggedText("")),
        ("  turn on the lamp ", TaggedText("turn on the lamp")),
        ("3 < 4 | 5 > 2", TaggedText("3 < 4 | 5 > 2")),
        ("a <b> c", TaggedText("a <b> c")),
        # A punctuation model has put spaces in.
        ("< | zh | >< | ANGRY | >< | Speech | >走开", TaggedText("走开", "zh", "angry")),
        # Unknown tags are removed too.
        ("<|de|><|JOYOUS|><|Barking|>Guten Tag", TaggedText("Guten Tag", "de")),
        ("<|SPECIAL_TOKEN_7|>yes", TaggedText("yes")),
        ("<|<|zh|>en|>yes", TaggedText("yes", "zh")),
        # Text that the model marks as no speech.
        ("<|nospeech|><|EMO_UNKNOWN|><|Event_UNK|><|woitn|>i.", TaggedText("")),
        ("<|nospeech|><|Event_UNK|>嗯<|zh|><|Speech|>你好", TaggedText("你好", "zh")),
        # After FunASR's own clean-up.
        ("🎼今天天气真好。😊", TaggedText("今天天气真好。", "", "happy", ("music",))),
        ("❓i.", TaggedText("")),
    ],
)
def test_parse(raw: str, parsed: TaggedText) -> None:
    assert parse_tags(raw) == parsed


def test_segments_are_joined_as_their_language_writes() -> None:
    english = "<|en|><|NEUTRAL|><|Speech|><|withitn|>One. <|en|><|NEUTRAL|><|Speech|>Two."
    assert parse_tags(english).text == "One. Two."
    assert parse_tags(LINE + LINE).text == "今天天气真好。今天天气真好。"
    assert parse_tags("<|zh|>打开<|en|>Spotify<|zh|>吧").text == "打开Spotify吧"
    assert parse_tags("<|ko|>안녕<|ko|>하세요").text == "안녕 하세요"


def test_the_most_frequent_counts_and_a_feeling_before_none() -> None:
    tags = parse_tags("<|en|><|NEUTRAL|>a<|zh|><|ANGRY|>b<|zh|>c")
    assert (tags.language, tags.emotion) == ("zh", "angry")
    assert parse_tags("<|NEUTRAL|>a<|NEUTRAL|>b<|SAD|>c").emotion == "neutral"
    assert parse_tags("<|Cough|>a<|BGM|>b<|Cough|>c").events == ("cough", "music")


def test_a_partial_result_may_end_anywhere() -> None:
    for end in range(len(LINE)):
        assert parse_tags(LINE[:end]).text == LINE[LINE.rindex(">") + 1 : end]


@given(st.lists(st.sampled_from(["<", "|", ">", "<|", "|>", "zh", "HAPPY", "好", "ok", " ", "😊"])))
def test_no_tag_survives(parts: list[str]) -> None:
    text = parse_tags("".join(parts)).text
    assert parse_tags(text).language == ""
    assert "😊" not in text


@given(st.text(alphabet=st.characters(exclude_characters="<|>😊😔😡😰🤢😮🎼👏😀😭🤧😷❓")))
def test_a_text_without_tags_comes_back(text: str) -> None:
    assert parse_tags(text) == TaggedText(text.strip())
