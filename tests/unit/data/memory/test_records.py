"""Keys that no device can forge, and items that survive a round trip."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.history import (
    AssistantMessage,
    HistoryItem,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.data.memory.records import (
    device_key,
    to_input_items,
    to_turns,
)

HALF = "it is on \ud83d"


@pytest.mark.parametrize(
    "item",
    [
        UserMessage(HALF),
        AssistantMessage(HALF),
        ToolCallItem("call", "lamp", HALF),
        ToolResultItem("call", HALF),
    ],
    ids=lambda item: type(item).__name__,
)
def test_no_half_of_a_surrogate_pair_is_stored(item: HistoryItem) -> None:
    json.dumps(to_input_items([item]), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "written",
    [
        "aa:bb:cc:dd:ee:0f",
        "AA:BB:CC:DD:EE:0F",
        "aa-bb-cc-dd-ee-0f",
        "AABBCCDDEE0F",
        " aa:bb:cc:dd:ee:0f ",
    ],
)
def test_a_mac_address_is_one_device_however_it_is_written(written: str) -> None:
    assert device_key(written) == "aa:bb:cc:dd:ee:0f"


@pytest.mark.parametrize(
    "forged",
    [
        "aa:bb:cc:dd:ee:0f/facts",
        "aa:bb:cc:dd:ee:0f:messages",
        "aa:bb:cc:dd:ee:0f/summary",
        "aa:bb:cc:dd:ee:0f\0",
        "aa:bb:cc:dd:ee",
        "aa:bb-cc:dd-ee:0f",
        "*",
        "",
        "../memory",
        "Kitchen",
        "küche",
        "x" * 65,
        "\udcff",
    ],
)
def test_any_other_form_is_hashed(forged: str) -> None:
    key = device_key(forged)
    assert key.startswith("sha256-")
    assert "/" not in key
    assert device_key(key) != key  # not even with the known hash


def test_plain_words_stay() -> None:
    assert device_key("kitchen-1") == "kitchen-1"


@given(st.text(), st.text())
def test_two_ids_have_one_key_only_if_they_are_one_address(one: str, other: str) -> None:
    if one != other and device_key(one) == device_key(other):
        assert device_key(one).count(":") == 5


texts = st.text()
item = st.one_of(
    st.builds(AssistantMessage, texts),
    st.builds(ToolCallItem, texts, texts, texts),
    st.builds(ToolResultItem, texts, texts),
)
turn = st.builds(lambda said, then: [UserMessage(said), *then], texts, st.lists(item, max_size=4))


@given(st.lists(turn, max_size=5))
def test_turns_survive_the_way_there_and_back(turns: list[list[HistoryItem]]) -> None:
    items = [item for turn in turns for item in to_input_items(turn)]
    assert to_turns(items) == turns


def test_what_others_wrote_is_read_as_far_as_it_can_be() -> None:
    parts = [{"type": "output_text", "text": "a"}, {"type": "refusal"}, 7]
    turns = to_turns(
        [
            {"role": "assistant", "content": "of a turn that is gone"},
            {"type": "reasoning", "summary": []},
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "message", "role": "assistant", "content": parts},
            {"type": "function_call_output", "call_id": 1, "output": {"x": 1}},
            {},
        ]
    )
    assert turns == [[UserMessage("hi"), AssistantMessage("a"), ToolResultItem("1", "{'x': 1}")]]
