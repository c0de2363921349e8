"""What a history takes back because it was not spoken."""

from __future__ import annotations

import pytest

from vixio.core.history import AssistantMessage, History, HistoryItem, ToolCallItem, ToolResultItem


def after(sentence: str, *items: HistoryItem) -> list[str]:
    """The assistant's texts of a turn when ``sentence`` was not said."""
    history = History()
    history.begin(1)
    for item in items:
        history.append(1, item)
    before = history.items()
    assert history.unsaid(1, sentence) == (history.items() != before)
    history.close(1)
    return [item.text for item in history.items() if isinstance(item, AssistantMessage)]


@pytest.mark.parametrize(
    ("text", "sentence", "left"),
    [
        ("One. Two. Three.", "Two.", "One. Three."),
        ("One. Two. Three.", "One.", "Two. Three."),
        ("One. Two.", "Two.", "One. "),
        ("One. **Is two** here! Three.", "Is two here!", "One. Three."),
        ("One.\n\n- `Two` is\n  it.\n- Three.", "Two is it.", "One.\n\n- - Three."),
        ("See [two](http://a.b/c). Three.", "See two.", "Three."),
        ("_Two_ is it. Three.", "Two is it.", "Three."),
        ("一是一。二是二。三是三。", "二是二。", "一是一。三是三。"),
        ("One. Twofold.", "Two.", "One. Twofold."),
        ("One. Two.", "…", "One. Two."),
        ("One. Two.", "Four.", "One. Two."),
    ],
)
def test_a_sentence_is_found_whatever_its_marks(text: str, sentence: str, left: str) -> None:
    assert after(sentence, AssistantMessage(text)) == [left]


def test_a_turn_without_a_said_word_has_no_text() -> None:
    assert after("Two.", AssistantMessage("**Two.** ")) == []


def test_each_text_of_a_turn_is_searched() -> None:
    items = (
        AssistantMessage("One. Two. "),
        ToolCallItem("c", "clock", "{}"),
        ToolResultItem("c", "noon"),
        AssistantMessage("Three."),
    )
    assert after("Two.", *items) == ["One. ", "Three."]
    assert after("Three.", *items) == ["One. Two. "]


def test_a_turn_that_is_over_is_left_alone() -> None:
    history = History()
    history.begin(1)
    history.append(1, AssistantMessage("One."))
    assert not history.unsaid(2, "One.")
    history.close(1)
    assert not history.unsaid(1, "One.")
    assert history.items() == [AssistantMessage("One.")]
