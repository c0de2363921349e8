"""Arguments that are one lossless step from right are taken; all others are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ToolError
from vixio.core.tools.arguments import read_arguments
from vixio.core.tools.repairs import read_objects
from vixio.core.tools.types import JsonObject, ToolDefinition

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "volume": {"type": "integer", "minimum": 0, "maximum": 100},
        "level": {"type": "number"},
        "on": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"floor": {"type": "integer"}}},
        "text": {"type": "string"},
        "colour": {"enum": ["Red", "green", "GREEN"]},
        "step": {"enum": [1, 2]},
        "room": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
        "note": {"type": ["string", "null"]},
        "far": {"$ref": "#/$defs/far"},
    },
    "$defs": {"far": {"type": "integer"}},
}


def _tool(*required: str, **schema: Any) -> ToolDefinition:  # noqa: ANN401 - JSON
    return ToolDefinition("set", "", {**SCHEMA, "required": list(required), **schema})


def _read(text: str, *required: str) -> tuple[JsonObject, int]:
    repairs: list[None] = []
    found = read_arguments(_tool(*required), text, lambda: repairs.append(None))
    return found, len(repairs)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"volume": 40}', {"volume": 40}),
        ('{"volume": 40.0}', {"volume": 40.0}),
        ('{"other": 1}', {"other": 1}),
        ("", {}),
        ("null", {}),
        (" {} ", {}),
        ('{"text": "40", "names": ["true"]}', {"text": "40", "names": ["true"]}),
        ('{"text": "```json {,} \'a\' True"}', {"text": "```json {,} 'a' True"}),
    ],
)
def test_what_is_right_is_not_repaired(text: str, arguments: JsonObject) -> None:
    assert _read(text) == (arguments, 0)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        # The text.
        ('{"volume":40}}', {"volume": 40}),
        ('{"volume":40,}', {"volume": 40}),
        ('{"names":["a","b",],}', {"names": ["a", "b"]}),
        ("{'volume': 40}", {"volume": 40}),
        ("""{'text': 'it\\'s "so"'}""", {"text": 'it\'s "so"'}),
        ('```json\n{"volume":40}\n```', {"volume": 40}),
        ('```json {"volume":40} ```', {"volume": 40}),
        ('{"volume":40}\n```', {"volume": 40}),
        ('"{\\"volume\\": 40}"', {"volume": 40}),
        (json.dumps(json.dumps('{"volume": 40}')), {"volume": 40}),
        ('{"on": True, "note": None}', {"on": True, "note": None}),
        ("{volume: 40}", {"volume": 40}),
        ('{"text":"two\nlines"}', {"text": "two\nlines"}),
        ('[{"volume":40}]', {"volume": 40}),
        ('{"volume":40}<|im_end|>', {"volume": 40}),
        ('{"volume":40}</tool_call>', {"volume": 40}),
        ('{"volume":40};', {"volume": 40}),
        ('{"volume":40})', {"volume": 40}),
        ('{"volume":40}{"volume":40}', {"volume": 40}),
        ('{"volume":40}"{\\"volume\\":40}"', {"volume": 40}),
        ('{{"volume":40}', {"volume": 40}),
        ('{"name": "set", "arguments": {"volume": 40}}', {"volume": 40}),
        ('{"parameters": "{\\"volume\\": 40}"}', {"volume": 40}),
        # The values.
        ('{"volume":"40"}', {"volume": 40}),
        ('{"volume":" 40 "}', {"volume": 40}),
        ('{"level":"-0.5"}', {"level": -0.5}),
        ('{"on":"true"}', {"on": True}),
        ('{"on":"False"}', {"on": False}),
        ('{"names":"[\\"a\\", \\"b\\"]"}', {"names": ["a", "b"]}),
        ("{\"names\":\"['a', 'b']\"}", {"names": ["a", "b"]}),
        ('{"where":"{\\"floor\\": \\"2\\"}"}', {"where": {"floor": 2}}),
        ('{"where":{"floor":"2"}}', {"where": {"floor": 2}}),
        ('{"colour":"red"}', {"colour": "Red"}),
        ('{"step":"2"}', {"step": 2}),
        ('{"room":"7"}', {"room": 7}),
        ('{"room":"true"}', {"room": True}),
        ('{"far":"7"}', {"far": 7}),
        ("{'volume': '40',}", {"volume": 40}),
    ],
)
def test_one_step_from_right(text: str, arguments: JsonObject) -> None:
    assert _read(text) == (arguments, 1)


def test_a_null_that_is_left_out_is_filled_in() -> None:
    assert _read('{"volume": 1}', "volume", "note") == ({"volume": 1, "note": None}, 1)
    with pytest.raises(ToolError, match="'text' is a required property"):
        _read('{"volume": 1}', "volume", "note", "text")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"volume":40', "not JSON"),
        ('{"text":"never ended', "not JSON"),
        ('{"volume":40} or so', "not JSON"),
        ("{'text': 'it's'}", "not JSON"),
        ('{"a" 1}', "not JSON"),
        ("set the volume", "not JSON"),
        ('{"volume":1}{"volume":2}', "not JSON"),
        ('{"volume":NaN}', "not JSON"),
        ('{"level":1e999}', "not JSON"),
        ("[" * 5_000, "not JSON"),
        ("40", "one JSON object"),
        ('"loud"', "one JSON object"),
        ("[]", "one JSON object"),
        ("[40]", "one JSON object"),
        ('{"volume":"loud"}', "'loud' is not of type 'integer'"),
        ('{"volume":"40%"}', "is not of type"),
        ('{"volume":"400"}', "is not of type"),
        ('{"volume":"007"}', "is not of type"),
        ('{"volume":""}', "is not of type"),
        ('{"volume":"4.5"}', "is not of type"),
        ('{"volume":400}', "greater than the maximum"),
        ('{"text":40}', "is not of type"),
        ('{"text":true}', "is not of type"),
        ('{"colour":"Green"}', "is not one of"),
        ('{"names":"a, b"}', "is not of type"),
        ('{"volume":"40","on":"perhaps"}', "is not of type 'boolean'"),
    ],
)
def test_what_would_have_to_be_guessed_is_refused(text: str, told: str) -> None:
    with pytest.raises(ToolError, match=told) as raised:
        _read(text)
    assert (raised.value.type, raised.value.retryable) == ("invalid_arguments", True)


def test_a_wrapper_that_the_tool_declares_is_no_wrapper() -> None:
    tool = ToolDefinition("run", "", {"properties": {"name": {}, "arguments": {"type": "object"}}})
    whole = {"name": "x", "arguments": {"volume": 40}}
    assert read_arguments(tool, json.dumps(whole)) == whole


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("{}{}", [{}, {}]),
        ('{"a":1}{"a":2}', [{"a": 1}, {"a": 2}]),
        ('{"a":1}\n{"a":2}', [{"a": 1}, {"a": 2}]),
        ('{"a":1}, {"a":2},', [{"a": 1}, {"a": 2}]),
        ('[{"a":1},{"a":2}]', [{"a": 1}, {"a": 2}]),
        ('{"a":1}{"a":1}', [{"a": 1}]),
        ("{}" * 17, []),
        ('{"a":1}{"a":', []),
        ('""' * 1_000, []),
        ('"' * 19_001, []),
        ("'" + '\\"' * 9_000, []),
        (" " * 20_001 + "{}", []),
    ],
)
def test_objects_in_a_row(text: str, objects: list[JsonObject]) -> None:
    assert list(read_objects(text)) == objects


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _VALUES, max_size=4))
def test_a_repair_gives_back_what_was_written(arguments: JsonObject) -> None:
    text = json.dumps(arguments)
    for bent in (text, text + "}", f"```json\n{text}\n```", json.dumps(text), repr(arguments)):
        if bent != repr(arguments) or bent.isascii():
            assert list(read_objects(bent)) in ([arguments], [])
    assert list(read_objects(text)) == [arguments]
    assert list(read_objects(json.dumps(text))) == [arguments]


@given(st.text(alphabet="{}[]\"':,\\ aT1\n`<>", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert all(isinstance(each, dict) for each in read_objects(text))
