"""Schemas written to make checks expensive: each check ends at once."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.runner import DIRECT
from vixio.core.tools.types import JsonObject, ToolDefinition

TEXT = {"type": "string"}

BOMB: JsonObject = {
    "properties": {"x": {"$ref": "#/$defs/n0"}},
    "$defs": {
        **{f"n{n}": {"allOf": [{"$ref": f"#/$defs/n{n + 1}"}] * 4} for n in range(12)},
        "n12": TEXT,
    },
}

BITING: dict[str, tuple[JsonObject, JsonObject]] = {
    "a pattern of exponential time": (
        {"properties": {"x": {**TEXT, "pattern": "^(a+)+$"}}},
        {"x": "a" * 50 + "!"},
    ),
    "the same for keys": ({"patternProperties": {"^(a+)+$": TEXT}}, {"a" * 50 + "!": "x"}),
    "the same by what is left over": (
        {"patternProperties": {"^(a+)+$": TEXT}, "additionalProperties": False},
        {"a" * 50 + "!": "x"},
    ),
    "the same by what is unevaluated": (
        {"patternProperties": {"^(a+)+$": TEXT}, "unevaluatedProperties": False},
        {"a" * 50 + "!": "x"},
    ),
    "names by a pattern": ({"propertyNames": {"pattern": "^(a+)+$"}}, {"a" * 50 + "!": "x"}),
    "a reference to itself": ({"properties": {"x": {"$ref": "#/properties/x"}}}, {"x": 1}),
    "references that stand for millions": (BOMB, {"x": 1}),
    "an older draft": (
        {"$schema": "http://json-schema.org/draft-07/schema#", **BOMB},
        {"x": 1},
    ),
}


async def call(schema: JsonObject, arguments: JsonObject) -> tuple[bool, str]:
    async def executor(**arguments: object) -> str:
        return "ran"

    tool = ToolDefinition("it", "", schema, caller=FunctionCaller(executor))
    result = await DIRECT.run(tool, json.dumps(arguments))
    return result.success, result.error_type


@pytest.mark.timeout(10)
@pytest.mark.parametrize("name", BITING)
async def test_every_check_ends_at_once(name: str) -> None:
    began = time.process_time()
    await call(*BITING[name])
    assert time.process_time() - began < 1.0


async def test_a_schema_that_is_too_complex_fails_only_its_call() -> None:
    assert await call(BOMB, {"x": 1}) == (False, "failed")
    assert await call({"properties": {"x": {"$ref": "#/properties/x"}}}, {"x": 1}) == (
        False,
        "failed",
    )


async def test_everything_but_patterns_is_checked() -> None:
    schema: JsonObject = {
        "properties": {"x": {"$ref": "#/$defs/small"}},
        "required": ["x"],
        "additionalProperties": False,
        "$defs": {"small": {"type": "integer", "maximum": 9}},
    }
    assert await call(schema, {"x": 3}) == (True, "")
    for wrong in ({}, {"x": 10}, {"x": "three"}, {"x": 3, "y": 4}):
        assert await call(schema, dict(wrong)) == (False, "invalid_arguments")


async def test_concurrent_checks_are_bounded_separately() -> None:
    schema: JsonObject = {
        "properties": {"x": {"items": {"$ref": "#/$defs/small"}}},
        "$defs": {"small": {"type": "integer"}},
    }
    calls = [call(schema, {"x": [1] * 150}) for _ in range(3)]
    assert await asyncio.gather(*calls) == [(True, "")] * 3
