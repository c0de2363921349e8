"""Requests that services refuse because of the tools in them."""

from __future__ import annotations

import json
from typing import Any

from tests.quirks.quirk import Quirk, done
from tests.support.llm_server import Answer, JsonObject, failure

ODD = "self.x.probe"
ALIAS = "self_x_probe"


def _odd(schema: JsonObject) -> dict[str, JsonObject]:
    return {ODD: schema}


def _property(schema: Any) -> dict[str, JsonObject]:  # noqa: ANN401 - JSON
    return _odd({"type": "object", "properties": {"a": schema}, "required": ["a"]})


_TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}},
        }
    },
}

_ODD_ONES: dict[str, JsonObject] = {f"odd.{letter}": {} for letter in "abc"}


def _alias(name: str) -> str:
    return name.replace(".", "_")


def _named(code: str) -> JsonObject:
    return {"message": f"Invalid schema for function '{ALIAS}': odd", "code": code}


MENDED: dict[str, dict[str, JsonObject]] = {
    "a list without items": _property({"type": "array"}),
    "a list within a list": _property({"type": "array", "items": {"type": "array"}}),
    "a list of places": _property(
        {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]}
    ),
    "anyOf at the top": _odd({"anyOf": [{"type": "object"}]}),
    "oneOf at the top": _odd({"oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}),
    "allOf at the top": _odd(
        {"type": "object", "allOf": [{"properties": {"a": {"type": "array"}}}]}
    ),
    "not and enum at the top": _odd({"type": "object", "not": {"required": ["x"]}, "enum": [{}]}),
    "a reference to nowhere": _property({"$ref": "#/$defs/M"}),
    "a reference to another document": _property({"$ref": "https://example.org/schema.json"}),
    "a reference to itself": _odd(_TREE),
    "a reference to the whole": _property({"$ref": "#"}),
    "no properties": _odd({"type": "object"}),
    "nothing at all": _odd({}),
    "a list of types": _property({"type": ["string", "null"]}),
    "several types": _property({"type": ["string", "integer"], "description": "A"}),
    "true for a schema": _property(True),
    "a long name": {f"self.{'a' * 100}": {}},
    "a name of other letters": {"查询天气": {}, "查询时间": {}},
    "a name that begins with a digit": {"3d.print": {}},
    "a hundred and fifty tools": {f"self.many.number_{number}": {} for number in range(150)},
}
"""What each service takes once Vixio has mended it, without a request in vain."""

IN_PLAIN_WORDS: dict[str, dict[str, JsonObject]] = {
    "unknown words": _odd(
        {
            "type": "object",
            "$schema": "x",
            "additionalProperties": False,
            "properties": {"a": {"const": 1}},
        }
    ),
    "null as a choice": _property(
        {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    ),
    "values that are numbers": _property({"type": "integer", "enum": [1, 2]}),
    "an empty value": _property({"type": "string", "enum": ["", "on", "off"]}),
    "a required name that is not declared": _odd({"properties": {}, "required": ["ghost"]}),
    "a pattern": _property({"type": "string", "pattern": "\\d{4}", "maxLength": 100_000}),
    "no type": _property({"description": "Anything."}),
    "one of several constants": _property(
        {"oneOf": [{"const": "a"}, {"const": "b", "title": "B"}]}
    ),
    "a map": _property({"type": "object", "additionalProperties": {"type": "integer"}}),
    "parts of a whole": _property(
        {"allOf": [{"type": "string"}, {"minLength": 1, "examples": ["x"]}]}
    ),
}
"""What a service with few words refuses once; from then on it is sent no others."""


def _body(status: int, body: object) -> Answer:
    return Answer([json.dumps(body)], status, {"content-type": "application/json"})


def _with_param(param: str) -> Answer:
    return _body(400, {"error": {"message": "Invalid schema.", "param": param}})


_SCHEMA: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}}

NAMED: dict[str, Answer] = {
    "OpenAI, by name": failure(
        400,
        f"Invalid schema for function '{ALIAS}': In context=(), it is odd.",
        "invalid_function_parameters",
    ),
    "OpenAI, by place": _with_param("tools[3].function.parameters"),
    "OpenAI, the name": failure(
        400, "Invalid 'tools[3].function.name': string does not match pattern."
    ),
    "Responses, by place": _with_param("tools[3].parameters"),
    "Gemini": _body(
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "* GenerateContentRequest.tools[0].function_declarations[3]."
                    "parameters.properties[a].items: missing field.",
                }
            }
        ],
    ),
    "Anthropic": failure(400, "tools.3.custom.input_schema: JSON schema is invalid."),
    "vLLM": _body(
        400,
        {
            "object": "error",
            "message": "[{'type': 'dict_type', 'loc': ('body', 'tools', 3, 'function', "
            "'parameters'), 'msg': 'Input should be a valid dictionary'}]",
        },
    ),
    "FastAPI": _body(422, {"detail": [{"loc": ["body", "tools", 3, "function"], "msg": "odd"}]}),
    "Groq": failure(
        400, f"invalid JSON schema for tool {ALIAS}, tools[3].function.parameters: odd"
    ),
    "Mistral, in quotes of its own": failure(400, f'Function \\"{ALIAS}\\" has an invalid schema'),
    "DeepSeek": failure(422, f"Failed to deserialize: tool `{ALIAS}`: expected a map"),
}
"""How services name the one tool that they refuse, the fourth of the list."""

_DIALECTS = {
    "gemini": {*IN_PLAIN_WORDS} - {"a pattern", "no type"},
    "llama.cpp": {"a pattern", "no type"},
}

QUIRKS = [
    *(
        Quirk(f"{dialect}: {name}", dialect=dialect, tools=tools, requests=1)
        for dialect in ("openai", "ollama")
        for name, tools in MENDED.items()
    ),
    *(
        Quirk(f"{dialect}: {name}", dialect=dialect, tools=IN_PLAIN_WORDS[name], requests=2)
        for dialect, names in _DIALECTS.items()
        for name in sorted(names)
    ),
    *(
        Quirk(
            f"named: {name}",
            dialect="none",
            tools=_odd(_SCHEMA),
            refusals=[refusal],
            requests=2,
            left_out=[ALIAS],
        )
        for name, refusal in NAMED.items()
    ),
    Quirk(
        "named in the stream",
        dialect="none",
        tools=_odd(_SCHEMA),
        answers=[
            Answer([f"data: {json.dumps({'error': _named('invalid_function_parameters')})}\n\n"]),
            done(),
        ],
        left_out=[ALIAS],
    ),
    Quirk(
        "three are named, one after the other",
        dialect="none",
        tools=_ODD_ONES,
        refusals=[
            failure(400, f"Invalid schema for function '{_alias(name)}': odd") for name in _ODD_ONES
        ],
        requests=4,
        left_out=[_alias(name) for name in _ODD_ONES],
    ),
    Quirk(
        "fewer tools than we think",
        dialect="none",
        tools=_ODD_ONES,
        refusals=[
            failure(400, "Invalid 'tools': array too long. Expected a maximum length of 4 items.")
        ],
        requests=2,
        left_out=["odd_b", "odd_c"],
    ),
]
