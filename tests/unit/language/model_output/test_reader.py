"""What a model writes is divided in the same way, however it is split into pieces."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.language.model_output.rows import ALL, CALLS, LAMP, ORDINARY, TOOLS, VOLUME, Row
from vixio.language.model_output import Further
from vixio.language.model_output.markers import MARKERS, Markers, markers
from vixio.language.model_output.reader import MAX_CALL, OutputReader, text_of_output

PONDERING = markers(Further((("<ponder>", "</ponder>"), ("((", "))")), ("<|zap|>", "~~~zap")))

FRAGMENTS = [
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", "<|channel|>"),
    *("analysis<|message|>", "[TOOL_CALLS]", "[THINK]", "[/THINK]", "◁think▷", "```", "json\n"),
    *('{"name": "', LAMP, '", "arguments": {', "}}", VOLUME, "(", "volume=40", ")", ". ", "\n"),
    *(
        "Hello",
        " ",
        "<",
        "|",
        ">",
        "[",
        "]",
        "{",
        "}",
        "`",
        "。",
        "（",
        "调用",
        "Action: ",
        '"',
        "a",
    ),
]


def read(pieces: list[str], table: Markers = MARKERS) -> Row:
    reader = OutputReader(tuple(TOOLS), TOOLS.get, table)
    said = "".join([*map(reader.feed, pieces), reader.finish()])
    calls = tuple((call.name, json.loads(call.arguments)) for call in reader.calls)
    return Row("".join(pieces), said, calls, reader.unread)


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.written[:50])
def test_every_cut_gives_the_same(row: Row) -> None:
    text = row.written
    assert read([text]) == row
    assert read(list(text)) == row
    for at in range(1, len(text)):
        assert read([text[:at], text[at:]]) == row, (text[:at], text[at:])


def test_there_are_enough_rows() -> None:
    assert len(ALL) >= 150
    assert len({row.written for row in ALL}) == len(ALL)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12), st.lists(st.integers(1, 9), min_size=1))
def test_cutting_never_matters(fragments: list[str], sizes: list[int]) -> None:
    text = "".join(fragments)
    pieces: list[str] = []
    rest = text
    while rest:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(rest[:size])
        rest = rest[size:]
    whole = read([text])
    assert read(pieces) == whole
    assert read(list(text)) == whole


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row.written[:50])
def test_a_call_of_a_tool_that_is_not_offered_is_not_said_either(row: Row) -> None:
    """Only what has no marker at all is text then: it may be what the user asked for."""
    reader = OutputReader()
    said = reader.feed(row.written) + reader.finish()
    assert reader.calls or reader.unread or said == row.written
    for token in ("<|", "<｜", "</", "[TOOL_CALLS]", "✿", "<tool", "<function", "<invoke"):
        assert token not in said


def test_text_is_passed_on_at_once() -> None:
    reader = OutputReader(tuple(TOOLS), TOOLS.get)
    assert reader.feed("Good morning") == "Good morning"
    assert reader.feed(", 3 <") == ", 3 "
    assert reader.feed(" 4. The") == "< 4. The"
    assert reader.feed(" show") == " show"
    assert reader.feed(" (") == " ("


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_changes_nothing(text: str) -> None:
    reader = OutputReader(tuple(TOOLS), TOOLS.get)
    assert reader.feed(text) + reader.finish() == text
    assert not reader.altered


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<ponder>hm</ponder>Hello.", "Hello."),
        ("((hm))Hello.", "Hello."),
        ("Hello<|zap|> there~~~ZAP.", "Hello there."),
        ("<PONDER>hm</PONDER>Hello.", "Hello."),
    ],
)
def test_a_user_extends_the_table(text: str, said: str) -> None:
    assert read(list(text), PONDERING).said == said
    assert read([text]).said != said or "zap" in text


def test_what_is_held_back_is_bounded() -> None:
    reader = OutputReader(tuple(TOOLS), TOOLS.get)
    assert reader.feed("<tool_call>" + "x" * MAX_CALL) == ""
    assert reader.unread == 1
    assert reader.feed(" Hello.") == "Hello."
    reader = OutputReader(tuple(TOOLS), TOOLS.get)
    assert reader.feed('{"name": "' + "x" * MAX_CALL).startswith('{"name": "xxx')


def test_a_whole_answer() -> None:
    assert (
        text_of_output("<think>A cat.</think>\nA cat on a sofa.<|im_end|>\n") == "A cat on a sofa."
    )
