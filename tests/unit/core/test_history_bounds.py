"""How much a history holds, what it tells its listener, and how earlier turns come back."""

from __future__ import annotations

import pytest

from vixio.core.history import (
    INTERRUPTED,
    MAX_ITEM_CHARS,
    SHORTENED,
    AssistantMessage,
    History,
    HistoryItem,
    Summary,
    ToolCallItem,
    ToolResultItem,
    Turn,
    UserMessage,
    approximate_tokens,
)


class Listener:
    def __init__(self) -> None:
        self.closed: list[str] = []
        self.forgotten: list[str] = []

    def turn_closed(self, turn: Turn) -> None:
        self.closed.append(_user(turn))

    def turn_forgotten(self, turn: Turn) -> None:
        self.forgotten.append(_user(turn))


def _user(turn: Turn) -> str:
    first = turn.items[0]
    assert isinstance(first, UserMessage)
    return first.text


def talk(history: History, said: str, *items: HistoryItem) -> None:
    turn_id = history.next_turn_id()
    history.begin(turn_id, said)
    for item in items:
        history.append(turn_id, item)
    history.close(turn_id)


def users(history: History) -> list[str]:
    return [item.text for item in history.items() if isinstance(item, UserMessage)]


def test_tokens_are_counted_by_script() -> None:
    assert approximate_tokens([]) == 0
    assert approximate_tokens([UserMessage("x" * 40)]) == 14
    assert approximate_tokens([UserMessage("把灯打开")]) == 8
    assert approximate_tokens([ToolCallItem("c", "lamp", "{}")]) == 6
    assert approximate_tokens([ToolResultItem("c", "true"), Summary("abcd")]) == 10


def test_tokens_are_bounded() -> None:
    history = History(max_turns=20, max_tokens=87)
    assert history.summary == ""
    for number in range(10):
        talk(history, f"{number}", AssistantMessage("x" * 80))
    assert users(history) == ["7", "8", "9"]
    assert history.tokens == 87
    talk(history, "huge", AssistantMessage("x" * 1_000))
    assert users(history) == ["huge"]  # the newest is kept whatever its size
    talk(history, "small")
    assert users(history) == ["small"]


def test_by_default_twenty_turns_are_kept() -> None:
    history = History()
    for number in range(25):
        talk(history, f"{number}")
    assert len(history) == 20
    for _ in range(10):
        talk(history, "x" * 4_000)  # 1,004 tokens
    assert history.tokens == 5 * 1_004


def test_a_long_item_is_cut_when_its_turn_is_over() -> None:
    history = History(max_tokens=100_000)
    long = "y" * (MAX_ITEM_CHARS + 5)
    history.begin(1, long)
    history.append(1, ToolCallItem("c", "page", f'"{long}"'))
    history.append(1, ToolResultItem("c", long))
    assert len(history.items()[2].output) == len(long)  # type: ignore[union-attr]  # it is one
    history.close(1)
    cut = "y" * MAX_ITEM_CHARS + SHORTENED
    assert list(history.items()) == [
        UserMessage(cut),
        ToolCallItem("c", "page", "{}"),
        ToolResultItem("c", cut),
    ]


def test_an_item_of_the_longest_length_stays_whole() -> None:
    history = History(max_tokens=100_000)
    long = "y" * MAX_ITEM_CHARS
    items: list[HistoryItem] = [
        ToolCallItem("c", "page", long),
        ToolResultItem("c", long),
        AssistantMessage(long),
    ]
    history.begin(1, long)
    for item in items:
        history.append(1, item)
    history.append(2, AssistantMessage("of a turn that is not there"))
    history.close(1)
    assert history.items() == [UserMessage(long), *items]


def test_a_call_without_an_answer_gets_one() -> None:
    history = History()
    history.begin(1)
    history.append(1, AssistantMessage("Let me "))
    history.append(1, AssistantMessage("see."))
    history.append(1, ToolCallItem("c", "lamp", "{}"))
    history.close(1)
    assert history.items() == [
        AssistantMessage("Let me see."),
        ToolCallItem("c", "lamp", "{}"),
        ToolResultItem("c", INTERRUPTED),
    ]


def test_the_listener_is_told_once() -> None:
    history, listener = History(), Listener()
    history.listener = listener
    talk(history, "one")
    history.close(1)
    history.begin(2, "two")
    history.cut(2, "")
    history.cut(2, "")
    history.forget(2)
    history.begin(3, "open")
    assert history.forget(3) == "open"
    assert listener.closed == ["one", "two"]
    assert listener.forgotten == ["two"]


def test_a_turn_that_begins_without_the_user_is_forgotten_without_words() -> None:
    history = History()
    history.begin(1)
    assert history.forget(2) == ""
    assert history.forget(1) == ""
    history.begin(3)
    history.append(3, AssistantMessage("Good morning!"))
    assert history.forget(3) == ""
    assert len(history) == 0


@pytest.mark.parametrize(
    ("heard", "texts"),
    [
        ("One two.Three four.", ["One two.", "Three four."]),
        ("One two.Three", ["One two.", "Three"]),
        ("One two.", ["One two."]),
        ("One", ["One"]),
        ("One-two.Three-four.", ["One two.", "Three four."]),
        ("", []),
    ],
)
def test_a_turn_is_cut_to_what_was_heard(heard: str, texts: list[str]) -> None:
    history = History()
    history.begin(1, "count")
    history.append(1, AssistantMessage("One two."))
    history.append(1, ToolCallItem("c", "lamp", "{}"))
    history.append(1, ToolResultItem("c", "true"))
    history.append(1, AssistantMessage("Three four."))
    history.cut(1, heard)
    assert [item.text for item in history.items() if isinstance(item, AssistantMessage)] == texts
    assert len(history.items()) == 3 + len(texts)
    assert history.tokens == approximate_tokens(history.items())


def test_an_unclosed_turn_ends_where_the_next_begins() -> None:
    history, listener = History(), Listener()
    history.listener = listener
    history.begin(1, "one")
    history.append(1, ToolCallItem("c", "lamp", "{}"))
    history.begin(2, "two")
    assert listener.closed == ["one"]
    assert isinstance(history.items()[2], ToolResultItem)


def test_what_is_stored_comes_in_front_and_in_its_own_place() -> None:
    history = History(max_turns=4)
    talk(history, "c")
    history.restore([[UserMessage("a")], [UserMessage("b")]], "before a")
    assert history.items()[0] == Summary("before a")
    assert users(history) == ["a", "b", "c"]
    assert [(turn.turn_id, turn.closed, turn.stored) for turn in history.turns] == [
        (0, True, True),
        (0, True, True),
        (1, True, False),
    ]
    history.turns[-1].stored = True
    history.begin(9, "d")
    history.restore([[UserMessage(name)] for name in "abc"], "")
    assert users(history) == ["a", "b", "c", "d"]
    history.append(9, AssistantMessage("still open"))
    history.close(9)
    assert history.items()[-1] == AssistantMessage("still open")
    history.restore([[UserMessage(name)] for name in "uvwxyz"], "")
    assert users(history) == ["x", "y", "z", "d"]


def test_clearing_leaves_the_turn_that_is_under_way() -> None:
    history = History()
    talk(history, "one")
    history.begin(2, "two")
    history.summary = "s"
    history.clear()
    assert users(history) == ["two"]
    assert history.items()[0] == UserMessage("two")
    assert history.summary == ""


def test_a_summary_is_due_at_three_quarters_and_leaves_half() -> None:
    history = History(max_turns=8)
    for number in range(6):
        talk(history, str(number))
        assert not history.to_fold()
    talk(history, "6")
    folded = history.to_fold()
    assert [_user(turn) for turn in folded] == ["0", "1", "2"]
    talk(history, "7")
    history.fold(folded, "in short")
    assert users(history) == ["3", "4", "5", "6", "7"]
    assert history.items()[0] == Summary("in short")
    assert not history.to_fold()


def test_a_summary_is_due_by_tokens_too() -> None:
    history = History(max_turns=1_000, max_tokens=1_000)
    while not history.to_fold():
        talk(history, "x" * 400)
    history.fold(history.to_fold(), "in short")
    assert 0 < history.tokens <= 500


def test_three_quarters_and_half_of_the_tokens_are_no_more_than_that() -> None:
    history = History(max_turns=1_000, max_tokens=64)
    for number in range(6):
        talk(history, f"{number}" * 16)  # 8 tokens
        assert not history.to_fold()
    talk(history, "6" * 16)
    assert [_user(turn)[0] for turn in history.to_fold()] == ["0", "1", "2"]


def test_of_two_long_turns_one_is_folded_away() -> None:
    history = History(max_tokens=100)
    talk(history, "x" * 160)
    assert not history.to_fold()
    talk(history, "y" * 160)
    assert [_user(turn)[0] for turn in history.to_fold()] == ["x"]


def test_one_turn_is_never_folded_away() -> None:
    history = History(max_tokens=100)
    talk(history, "x" * 4_000)
    assert not history.to_fold()


def test_words_that_are_known_late_come_first_in_their_turn() -> None:
    history = History()
    history.begin(1)
    history.append(1, AssistantMessage("Hello!"))
    history.said(1, "hello")
    history.said(2, "another turn")
    assert history.items() == [UserMessage("hello"), AssistantMessage("Hello!")]
    history.said(1, "hello there")
    history.close(1)
    history.said(1, "too late")
    assert history.items() == [UserMessage("hello there"), AssistantMessage("Hello!")]
