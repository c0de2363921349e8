"""Answers of a tool server that are not valid JSON, as the firmware writes them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.transports.xiaozhi.protocol import (
    MAX_MESSAGE_CHARS,
    NO_JSON,
    Ignored,
    McpFrame,
    XiaozhiProtocol,
    read_broken_answer,
)


def firmware_error(number: int, message: str) -> str:
    """Return what McpServer::ReplyError and Protocol::SendMcpMessage make."""
    payload = f'{{"jsonrpc":"2.0","id":{number},"error":{{"message":"{message}"}}}}'
    return f'{{"session_id":"s","type":"mcp","payload":{payload}}}'


@pytest.mark.parametrize(
    "message",
    ['Unknown tool: "x"', "two\nlines", "a \\ b", '"', 'ends in a quote "x"', '{"a": 1}, "b": 2'],
)
def test_the_firmwares_unescaped_error_is_read(message: str) -> None:
    event = XiaozhiProtocol().parse(firmware_error(7, message))
    assert isinstance(event, McpFrame)
    assert event.broken
    assert event.payload["id"] == 7
    assert event.payload["error"]["message"] == message


@pytest.mark.parametrize("behind", ["", "\n", "\r\n", " \t"])
def test_white_space_behind_an_answer_is_no_part_of_its_message(behind: str) -> None:
    answer = read_broken_answer(firmware_error(7, 'no "x"') + behind)
    assert answer is not None
    assert answer["error"]["message"] == 'no "x"'


def test_a_valid_answer_is_no_matter_for_it() -> None:
    event = XiaozhiProtocol().parse(firmware_error(7, "Unknown tool: x"))
    assert isinstance(event, McpFrame)
    assert not event.broken


@pytest.mark.parametrize("text", ['{"text":"a "b""}', '{"message":"a "b""}'])
def test_a_broken_result_is_an_error(text: str) -> None:
    whole = f'{{"type":"mcp","payload":{{"jsonrpc":"2.0","id":3,"result":{{"content":[{text}]}}}}}}'
    answer = read_broken_answer(whole)
    assert answer == {"jsonrpc": "2.0", "id": 3, "error": {"message": NO_JSON}}


def test_a_message_that_is_cut_off_is_kept_as_far_as_it_came() -> None:
    answer = read_broken_answer('{"type":"mcp","payload":{"id":12,"error":{"message":"port "X')
    assert answer == {"jsonrpc": "2.0", "id": 12, "error": {"message": 'port "X'}}


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"mcp","payload":{"error":{"code":-1,"message":"no "x""},"id":12}}',
        '{"type" : "mcp", "payload" : {"id" : 12 , "error" : {"message" : "no "x""}}}',
        '{"payload":{"id":12,"error":"no "x""},"type":"mcp"}',
        '{"type":"mcp","payload":{"id":12,"error":{"message":"cut off',
    ],
)
def test_other_orders_and_cut_off_texts(text: str) -> None:
    answer = read_broken_answer(text)
    assert answer is not None
    assert answer["id"] == 12
    assert isinstance(answer["error"]["message"], str)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"type":"mcp","payload":{"id":"12","error":{"message":"a string id "x""}}}',
        '{"type":"mcp","payload":{"method":"notifications/"x""}}',
        '{"type":"listen","payload":{"id":12,"error":{"message":""x""}}}',
        '{"type":"mcp","payload":{"error":{"message":"no id "x""}}}',
    ],
)
def test_nothing_is_invented(text: str) -> None:
    assert read_broken_answer(text) is None
    assert isinstance(XiaozhiProtocol().parse(text), Ignored)


def test_a_long_message_is_cut() -> None:
    answer = read_broken_answer(firmware_error(1, '"' + "x" * 60_000))
    assert answer is not None
    assert len(answer["error"]["message"]) == MAX_MESSAGE_CHARS


@given(st.text(max_size=200), st.integers(0, 2**31 - 1))
def test_any_message_finds_its_call(message: str, number: int) -> None:
    text = firmware_error(number, message)
    try:
        json.loads(text)
    except ValueError:
        answer = read_broken_answer(text)
        assert answer is not None
        assert answer["id"] == number


@pytest.mark.parametrize("filler", ['"id":', '"id":1,', "}", " ", '"error":', '"message":"'])
def test_hostile_texts_cost_little(filler: str) -> None:
    """Linear, whatever is repeated: a device sends at most 64 KB."""
    body = filler * (60_000 // len(filler))
    for begin in ("", '"id":1,"error":{"message":"'):
        answer = read_broken_answer(f'{{"type":"mcp","payload":{{{begin}{body}x')
        assert answer is None or "error" in answer
