"""Strict JSON: what is accepted can be taken by protobuf, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from a2a.types import SendMessageRequest
from a2a.utils.proto_utils import parse_lenient
from hypothesis import given
from hypothesis import strategies as st

from vixio.web.a2a.incoming import Incoming, read_message
from vixio.web.a2a.json_input import (
    MAX_DEPTH,
    Invalid,
    Malformed,
    canonical,
    parse_json,
    whole_numbers,
)

TEXTS = st.text(st.characters(codec=None), max_size=8)  # surrogates too
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**290, 10**320)
    | st.floats()
    | TEXTS
    | st.just("\0")
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_accepted_protobuf_takes(value: Any) -> None:  # noqa: ANN401 - any JSON value
    body = json.dumps({"data": value}).encode()
    try:
        parsed = parse_json(body)
    except Malformed:
        return
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": parsed["data"]}]}
    request = parse_lenient({"message": message}, SendMessageRequest())
    assert len(request.message.parts) == 1
    request.SerializeToString()


@given(VALUES)
def test_a_message_is_read_or_refused(value: Any) -> None:  # noqa: ANN401 - any JSON value
    for message in (value, {"parts": value}, {"parts": [value]}, {"parts": [{"data": value}]}):
        for wrapped in (
            message,
            {"parts": [{"data": {"tools": value}}]},
            {"parts": [{"data": {"tools": [{"type": "function", "function": value}]}}]},
            {"parts": [{"data": {"tool_results": value}}]},
            {"parts": [{"data": {"tool_results": [{"tool_call_id": "x", "content": value}]}}]},
            {"parts": [{"data": value, "metadata": {"type": "tool-definitions"}}]},
        ):
            try:
                incoming, passed_on = read_message(wrapped)
            except Invalid:
                continue
            assert isinstance(incoming, Incoming)
            assert isinstance(passed_on, dict)


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    try:
        parse_json(data)
    except Malformed:
        pass


def nested(depth: int) -> Any:  # noqa: ANN401 - any JSON value
    value: Any = 1
    for number in range(depth):
        value = {"a": value} if number % 2 else [value]
    return value


def test_the_deepest_that_is_accepted_protobuf_takes() -> None:
    inner = MAX_DEPTH - 5  # the body, params, message, parts and the part stand around it
    body = {"params": {"message": {"parts": [{"data": nested(inner)}]}}}
    parsed = parse_json(json.dumps(body).encode())
    parse_lenient(parsed["params"], SendMessageRequest())
    body = {"params": {"message": {"parts": [{"data": nested(inner + 1)}]}}}
    with pytest.raises(Malformed, match="deeper"):
        parse_json(json.dumps(body).encode())


def test_numbers() -> None:
    value = {"b": 5.0, "a": [2.5, 1e300, 2.0**60, True, None, -0.0]}
    assert whole_numbers(value) == {"b": 5, "a": [2.5, 1e300, 2.0**60, True, None, 0]}
    assert json.dumps(whole_numbers({"x": 5.0, "big": 2**70})) == f'{{"x": 5, "big": {2**70}}}'
    assert json.dumps(canonical({"b": 5.0, "a": {"d": 1, "c": 2}})) == (
        '{"a": {"c": 2, "d": 1}, "b": 5}'
    )
