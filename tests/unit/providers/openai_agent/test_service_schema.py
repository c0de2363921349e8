"""Schemas are mended for services no further than they refuse them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.quirks.service import gemini_refusal, llama_refusal, ollama_refusal, openai_refusal
from vixio.core.errors import ToolError
from vixio.core.tools.names import safe_tool_name
from vixio.core.tools.types import JsonObject, ToolDefinition
from vixio.providers.openai_agent.offered import MAX_DESCRIPTION, as_offered
from vixio.providers.openai_agent.plain_schema import plain_schema
from vixio.providers.openai_agent.service_schema import service_schema


def _of(part: Any) -> JsonObject:  # noqa: ANN401 - JSON
    return {"type": "object", "properties": {"a": part}}


@pytest.mark.parametrize(
    "schema",
    [
        _of({"type": "integer", "minimum": 0, "default": 3, "$comment": "x"}),
        {**_of({"type": "string", "format": "uri"}), "additionalProperties": False},
        _of({"anyOf": [{"type": "string"}, {"type": "null"}], "title": "A"}),
        _of({"type": "array", "items": {"enum": [1, None]}, "uniqueItems": True}),
        {**_of({"const": 1}), "required": ["a"], "$defs": {"b": {"const": 1}}},
        _of({"type": "object", "additionalProperties": {"type": "integer"}}),
    ],
)
def test_what_is_accepted_stays_as_it_is(schema: JsonObject) -> None:
    assert service_schema(schema) == schema


@pytest.mark.parametrize(
    ("schema", "mended"),
    [
        ({}, {"type": "object", "properties": {}}),
        (_of({"type": "array"}), _of({"type": "array", "items": {"type": "string"}})),
        (
            _of({"type": "array", "default": [1, 2]}),
            _of({"type": "array", "default": [1, 2], "items": {"type": "integer"}}),
        ),
        (
            _of({"items": [{"type": "number"}, {"type": "number"}]}),
            _of({"items": {"type": "number"}}),
        ),
        ({"anyOf": [{"type": "object"}]}, {"type": "object", "properties": {}}),
        (
            {
                "oneOf": [
                    {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
                ]
            },
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {}},
                "required": ["a"],
            },
        ),
        (
            {"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]},
            {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]},
        ),
        (
            {**_of({"$ref": "#/$defs/M"}), "$defs": {"M": {"type": "string"}}},
            _of({"type": "string"}),
        ),
        (_of({"$ref": "#/$defs/M", "description": "D"}), _of({"description": "D"})),
        (
            {
                "properties": {"a": {"$ref": "#/definitions/n"}},
                "definitions": {
                    "n": {"description": "N", "properties": {"next": {"$ref": "#/definitions/n"}}}
                },
            },
            _of({"description": "N", "properties": {"next": {"type": "object"}}}),
        ),
        (
            {**_of({"type": ["string", "null"]}), "required": ["a"]},
            _of({"type": "string"}),
        ),
        (
            _of({"type": ["string", "integer"]}),
            _of({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ),
        (_of(True), _of({})),
        (_of(False), {"type": "object", "properties": {}}),
        ({"type": ["object", "null"]}, {"type": "object", "properties": {}}),
    ],
)
def test_what_is_refused_is_mended(schema: JsonObject, mended: JsonObject) -> None:
    before = json.dumps(schema)
    assert service_schema(schema) == mended
    assert json.dumps(schema) == before


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"enum": [1, 2]}, {"type": "integer", "description": "(one of 1, 2)"}),
        (
            {"type": "string", "enum": ["", "a", "a", None]},
            {"type": "string", "enum": ["a"]},
        ),
        (
            {"type": "string", "format": "uri", "description": "An address."},
            {"type": "string", "description": 'An address. (format: "uri")'},
        ),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        (
            {"type": "string", "pattern": "\\d", "maxLength": 10**6, "minLength": 2},
            {"type": "string", "minLength": 2, "description": '(pattern: "\\\\d")'},
        ),
        (
            {"type": "integer", "minimum": -(2**53) + 1, "exclusiveMaximum": 9},
            {"type": "integer", "description": "(exclusiveMaximum: 9)"},
        ),
        (
            {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}], "default": None},
            {"type": "integer", "minimum": 0},
        ),
        (
            {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
            {"type": "string", "enum": ["a", "b"]},
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": "object", "description": '(additionalProperties: {"type": "integer"})'},
        ),
        (
            {"type": "boolean", "default": False},
            {"type": "boolean", "description": "(default: false)"},
        ),
        (
            {**_of({"description": "D"}), "additionalProperties": False, "required": ["a", "b"]},
            {**_of({"type": "string", "description": "D"}), "required": ["a"]},
        ),
        ({**_of({"type": "string", "nullable": True}), "required": ["a"]}, _of({"type": "string"})),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, {"type": "string", "minLength": 1}),
    ],
)
def test_plain_words(schema: JsonObject, plain: JsonObject) -> None:
    assert plain_schema(schema) == plain


def test_a_schema_that_no_arguments_fit_is_left_out() -> None:
    for schema in ({"type": "array"}, {"type": "string"}, {"type": ["array", "null"]}):
        assert service_schema(schema) is None
        with pytest.raises(ToolError, match="not those of an object"):
            as_offered(ToolDefinition("x", "", schema))


def test_references_that_multiply_are_bounded() -> None:
    definitions: JsonObject = {
        f"d{n}": {"properties": {side: {"$ref": f"#/$defs/d{n + 1}"} for side in "abcdefgh"}}
        for n in range(10)
    }
    schema = service_schema({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
    assert len(json.dumps(schema)) < 100_000


_NAMES = st.sampled_from(["a", "b", "c"])
_SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "array", ["string", "null"], "boolean"]),
            "enum": st.lists(st.none() | st.text(max_size=2) | st.integers(), min_size=1),
            "const": st.none() | st.text(max_size=2) | st.integers(),
            "$ref": st.sampled_from(["#", "#/$defs/a", "#/properties/b", "#/nowhere", "other"]),
            "description": st.text(max_size=3),
            "default": st.none() | st.booleans() | st.lists(st.integers(), max_size=2),
            "pattern": st.sampled_from(["\\d", "^a$"]),
            "nullable": st.booleans(),
            "format": st.just("uri"),
            "minLength": st.integers(0, 10**6),
            "exclusiveMinimum": st.integers(),
            "minimum": st.integers(),
        },
    )
    | st.booleans(),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", ["object", "null"]]),
            "properties": st.dictionaries(_NAMES, inner, max_size=3),
            "required": st.lists(_NAMES, unique=True, max_size=3),
            "items": inner | st.lists(inner, min_size=1, max_size=2),
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "additionalProperties": inner,
            "$defs": st.dictionaries(_NAMES, inner, max_size=2),
            "$ref": st.sampled_from(["#", "#/$defs/a", "#/anyOf/0"]),
        },
    ),
    max_leaves=12,
)


@given(_SCHEMAS)
def test_every_schema_is_accepted_or_left_out(schema: JsonObject | bool) -> None:
    if isinstance(schema, bool):
        return
    whole = service_schema(schema)
    if whole is None:
        return
    for parameters, refusals in (
        (whole, (openai_refusal, ollama_refusal)),
        (plain_schema(whole), (openai_refusal, ollama_refusal, gemini_refusal, llama_refusal)),
    ):
        request = {"tools": [{"name": "x", "description": "", "parameters": parameters}]}
        for refusal in refusals:
            assert refusal(request) == ""


@pytest.mark.parametrize(
    ("name", "description", "described"),
    [
        ("打开灯", "probe", "打开灯: probe"),
        ("查询天气", "", "查询天气"),
        ("查询天气", "查询天气", "查询天气"),
        ("self.打开.lamp", "probe", "self.打开.lamp: probe"),
        (f"self.{'a' * 100}", "probe", f"self.{'a' * 100}: probe"),
        ("Überblick", "probe", "Überblick: probe"),
        ("💡.on", "probe", "probe"),
        ("self.lamp.turn_on", "probe", "probe"),
        ("turn-on", "", ""),
        ("3d.print", "probe", "probe"),
        ("x", "y" * 2_000, "y" * (MAX_DESCRIPTION - 1) + "…"),
    ],
)
def test_the_real_name_is_told_where_letters_are_lost(
    name: str, description: str, described: str
) -> None:
    offered = as_offered(ToolDefinition(name, description))
    assert offered.description == described
    request = {"tools": [{"name": offered.name, "parameters": offered.parameters}]}
    assert (openai_refusal(request), gemini_refusal(request)) == ("", "")


def test_names_that_lose_letters_stay_different() -> None:
    names = [
        "打开灯",
        "关闭灯",
        "self.打开",
        "self.关闭",
        "ä",
        "ö",
        "x" * 65,
        "x" * 66,
        "3d",
        "_3d.",
        "",
    ]
    assert len({safe_tool_name(name) for name in names}) == len(names)
