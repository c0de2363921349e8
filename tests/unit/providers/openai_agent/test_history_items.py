"""Histories in the form that model APIs accept."""

from vixio.core.history import (
    INTERRUPTED,
    AssistantMessage,
    HistoryItem,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.providers.openai_agent.history_items import to_input_items


def test_messages_and_the_new_text() -> None:
    items = to_input_items([UserMessage("hi"), AssistantMessage("hello")], "again")
    assert items == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "again"},
    ]


def test_answers_stand_behind_their_group_of_calls() -> None:
    items = to_input_items(
        [
            UserMessage("do both"),
            ToolCallItem("a", "one", "{}"),
            ToolCallItem("b", "two", '{"x": 1}'),
            AssistantMessage("wait"),
            ToolResultItem("b", "B"),
            ToolResultItem("a", "A"),
        ],
        "next",
    )
    assert [item.get("call_id") for item in items] == [None, "a", "b", "a", "b", None, None]
    assert [item.get("output") for item in items[3:5]] == ["A", "B"]
    assert items[5] == {"role": "assistant", "content": "wait"}


def test_an_open_call_is_closed_and_a_lone_answer_left_out() -> None:
    items = to_input_items(
        [UserMessage("go"), ToolCallItem("a", "one", "{}"), ToolResultItem("z", "lost")], "next"
    )
    assert items[2] == {"type": "function_call_output", "call_id": "a", "output": INTERRUPTED}
    assert len(items) == 4


def test_repeated_ids_are_told_apart_and_each_keeps_its_answer() -> None:
    turn: list[HistoryItem] = [
        ToolCallItem("call_0", "one", "{}"),
        ToolResultItem("call_0", "first"),
    ]
    again: list[HistoryItem] = [
        ToolCallItem("call_0", "one", "{}"),
        ToolResultItem("call_0", "second"),
    ]
    items = to_input_items([*turn, *again], "next")
    assert [(item["call_id"], item.get("output")) for item in items[:4]] == [
        ("call_0", None),
        ("call_0", "first"),
        ("call_0_2", None),
        ("call_0_2", "second"),
    ]


def test_arguments_that_are_no_object_become_one() -> None:
    items = to_input_items([ToolCallItem("a", "one", '{"x": ')], "next")
    assert items[0]["arguments"] == "{}"


def test_a_reply_of_which_nothing_was_heard_is_left_out() -> None:
    assert to_input_items([AssistantMessage(" ")], "next") == [{"role": "user", "content": "next"}]
