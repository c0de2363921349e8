"""A server of the protocol that is as strict as a model's service, in one of several dialects."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.support.llm_server import Answer, JsonObject, LLMServer, failure

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

_GEMINI = {
    *("type", "description", "properties", "required", "items", "enum", "format", "minimum"),
    *("maximum", "minItems", "maxItems", "minLength", "maxLength", "anyOf"),
}
"""The words of JSON Schema that Gemini knows."""

Refusal = Callable[[JsonObject], str]
"""Returns why a request is refused, in the service's own words; empty if it is not."""


class Service(LLMServer):
    """Refuses requests by ``dialect``, and takes an answer of the script for all others."""

    def __init__(self, dialect: str = "openai") -> None:
        super().__init__()
        self._refusal = DIALECTS[dialect]
        self.refused: list[str] = []

    def _next(self, request: JsonObject) -> Answer:
        if why := self._refusal(request) or history_refusal(request):
            self.refused.append(why)
            return failure(400, why, "invalid_function_parameters")
        return super()._next(request)


def functions_of(request: JsonObject) -> list[JsonObject]:
    """Return the functions that a request offers, of either API."""
    return [tool.get("function", tool) for tool in request.get("tools", [])]


def offered(request: JsonObject) -> list[str]:
    """Return the names of the functions that a request offers."""
    return [function["name"] for function in functions_of(request)]


def openai_refusal(request: JsonObject) -> str:
    """What OpenAI refuses (its words, 2025)."""
    functions = functions_of(request)
    if len(functions) > 128:
        return (
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got "
            f"an array with length {len(functions)} instead."
        )
    for place, function in enumerate(functions):
        name, schema = function["name"], function["parameters"]
        if not _NAME.fullmatch(name):
            return f"Invalid 'tools[{place}].function.name': string does not match pattern."
        if len(function.get("description", "")) > 1_024:
            return f"Invalid 'tools[{place}].function.description': string too long."
        if fault := _openai_fault(schema):
            return f"Invalid schema for function '{name}': {fault}"
    return ""


def _openai_fault(schema: JsonObject) -> str:
    if schema.get("type") != "object":
        return (
            f"schema must be a JSON Schema of 'type: \"object\"', got 'type: {schema.get('type')}'."
        )
    if "properties" not in schema:
        return "In context=(), object schema missing properties."
    if schema.keys() & {"oneOf", "anyOf", "allOf", "enum", "not"}:
        return (
            "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at "
            "the top level."
        )
    for part in parts_of(schema):
        if part.get("type") == "array" and not isinstance(part.get("items"), dict):
            return "In context=('properties', 'a'), array schema missing items."
        if "$ref" in part:
            return "In context=('properties', 'q'), reference can only point to definitions."
    return ""


def gemini_refusal(request: JsonObject) -> str:
    """What Gemini refuses (its words; google-gemini and many clients, 2024 to 2026)."""
    for place, function in enumerate(functions_of(request)):
        at = f"request.tools[0].function_declarations[{place}].parameters"
        if not re.match("[A-Za-z_]", function["name"]):
            return f"* {at}: Invalid function name. Must start with a letter or an underscore."
        for part in parts_of(function["parameters"]):
            if unknown := sorted(part.keys() - _GEMINI):
                return (
                    f"Invalid JSON payload received. Unknown name \"{unknown[0]}\" at '{at}': "
                    "Cannot find field."
                )
            if isinstance(part.get("type"), list):
                return f"Unknown name \"type\" at '{at}': cannot start list."
            if "enum" in part and (part.get("type") != "string" or "" in part["enum"]):
                return f"* {at}.enum: only allowed for STRING type"
            if part.get("type") == "array" and "items" not in part:
                return f"* GenerateContentRequest.{at}.properties[x].items: missing field."
            if missing := set(part.get("required", ())) - set(part.get("properties", {})):
                return f"* {at}.required[0]: property is not defined: {missing}"
    return ""


def llama_refusal(request: JsonObject) -> str:
    """What llama.cpp refuses: it names no tool (containers/kubernetes-mcp-server#758)."""
    for function in functions_of(request):
        for part in parts_of(function["parameters"]):
            if "pattern" in part and not re.fullmatch(r"\^[^\\]*\$", part["pattern"]):
                return (
                    "JSON schema conversion failed:\nPattern must start with '^' and end with '$'"
                )
            if part and not part.keys() & {"type", "enum", "const", "anyOf", "oneOf", "properties"}:
                return f"JSON schema conversion failed:\nUnrecognized schema: {json.dumps(part)}"
    return ""


def ollama_refusal(request: JsonObject) -> str:
    """What Ollama before 0.6 refuses."""
    for function in functions_of(request):
        for part in parts_of(function["parameters"]):
            if isinstance(part.get("type"), list):
                return (
                    "json: cannot unmarshal array into Go struct field "
                    "ChatRequest.tools.function.parameters.properties.type of type string"
                )
    return ""


def history_refusal(request: JsonObject) -> str:
    """What OpenAI, vLLM, llama.cpp and SGLang refuse in the conversation."""
    made: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for name, arguments, call_id in _calls_of(request):
        made[call_id] += 1
        if not _NAME.fullmatch(name):
            return f"Invalid 'messages[2].tool_calls[0].function.name': {name!r}"
        try:
            whole = isinstance(json.loads(arguments), dict)
        except ValueError:
            whole = False
        if not whole:
            return f"Failed to parse tool call arguments as JSON: {arguments!r}"
    for message in _conversation(request):
        if message.get("role") == "tool":
            answered[message["tool_call_id"]] += 1
        elif message.get("type") == "function_call_output":
            answered[message["call_id"]] += 1
    if made != answered or "" in made or any(number > 1 for number in made.values()):
        return f"messages with tool_calls must be followed by tool messages: {made} {answered}"
    return ""


def _conversation(request: JsonObject) -> list[JsonObject]:
    items: list[JsonObject] = request["messages"] if "messages" in request else request["input"]
    return items


def _calls_of(request: JsonObject) -> Iterator[tuple[str, str, str]]:
    for message in _conversation(request):
        for call in message.get("tool_calls", ()):
            function = call["function"]
            yield function["name"], function["arguments"], call["id"]
        if message.get("type") == "function_call":
            yield message["name"], message["arguments"], message["call_id"]


def parts_of(schema: object) -> Iterator[JsonObject]:
    """Yield a schema and all that are within it."""
    if not isinstance(schema, Mapping):
        return
    yield dict(schema)
    within: list[Any] = [*schema.get("properties", {}).values(), schema.get("items")]
    for key in ("anyOf", "oneOf", "allOf"):
        within += schema.get(key, [])
    for part in within:
        yield from parts_of(part)


DIALECTS: dict[str, Refusal] = {
    "openai": openai_refusal,
    "gemini": gemini_refusal,
    "llama.cpp": llama_refusal,
    "ollama": ollama_refusal,
    "none": lambda request: "",
}
