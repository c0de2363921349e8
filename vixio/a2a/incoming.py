"""What a message says: words, an offer of tools, results of tools. Read from the JSON itself.

protobuf, in which the A2A library keeps data parts, has no integers and no order of keys. So data
parts are read before it sees them; of an offer it gets the names alone, which keeps the histories
of tasks small.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vixio.a2a.json_input import canonical, whole_numbers
from vixio.core.tools.types import JsonObject

EXTENSION: Final = "urn:vixio:a2a:client-tools:v1"

MAX_PARTS: Final = 64
MAX_TEXT: Final = 50_000
"""Characters of a message."""
MAX_TOOLS: Final = 64
MAX_SCHEMA_BYTES: Final = 20_000
"""Of one tool, as JSON."""
MAX_NAME: Final = 200
MAX_DESCRIPTION: Final = 8_000
MAX_ID: Final = 200
"""Characters of the ids of calls, contexts, tasks and messages."""

_OFFER = "tool-definitions"
_RESULTS = ("tool-results", "tool-messages")
_TYPES = (_OFFER, *_RESULTS)
_STATUSES = ("success", "error")
_RESULT_KEYS = ("tool_results", "toolMessages", "tool_messages")


class Invalid(Exception):
    """The message cannot be taken. The text says what is wrong, and quotes no content."""


class NotTaken(Invalid):
    """The message has content of a kind that is not taken."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the caller runs. ``parameters``: its JSON Schema, in canonical form."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call. ``content``: text, or JSON text with the numbers as they were sent."""

    call_id: str
    content: str
    error: bool = False


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message. ``offer`` None: the tools stay as they are; empty: there are none any more.

    ``data``: data parts that are neither an offer nor results.
    """

    text: str = ""
    offer: tuple[OfferedTool, ...] | None = None
    results: tuple[Result, ...] = ()
    data: tuple[Any, ...] = ()


def read_message(message: Any) -> tuple[Incoming, JsonObject]:  # noqa: ANN401 - it is checked here
    """Return what a message says, and the message as the A2A library gets it. Raises Invalid."""
    if not isinstance(message, dict):
        raise Invalid("message must be an object")
    parts = message.get("parts")
    if not isinstance(parts, list) or not parts:
        raise Invalid("message.parts must be a list with at least one part")
    if len(parts) > MAX_PARTS:
        raise Invalid(f"message.parts has {len(parts)} parts, {MAX_PARTS} at most")
    texts: list[str] = []
    offer: tuple[OfferedTool, ...] | None = None
    results: list[Result] = []
    data: list[Any] = []
    passed_on: list[JsonObject] = []
    for number, part in enumerate(parts):
        place = f"message.parts[{number}]"
        kept = _part(part, place)
        if "data" not in kept:
            texts.append(kept["text"])
        elif _is_offer(kept):
            offer = _offer(kept["data"], f"{place}.data.tools")
            kept = {**kept, "data": {"tools": [_name_alone(tool) for tool in offer]}}
        elif (found := _results(kept, f"{place}.data")) is not None:
            results += found
        else:
            data.append(whole_numbers(kept["data"]))
        passed_on.append(kept)
    text = "\n".join(each for each in texts if each.strip()).replace("\0", "")
    if len(text) > MAX_TEXT:
        raise Invalid(f"the message has {len(text)} characters of text, {MAX_TEXT} at most")
    if len(results) > MAX_TOOLS:
        raise Invalid(f"the message has {len(results)} results, {MAX_TOOLS} at most")
    incoming = Incoming(text, offer, tuple(results), tuple(data))
    return incoming, {**message, "parts": passed_on}


def _part(part: Any, place: str) -> JsonObject:  # noqa: ANN401 - it is checked here
    if not isinstance(part, dict):
        raise Invalid(f"{place} must be an object")
    if "metadata" in part and not isinstance(part["metadata"], dict | None):
        raise Invalid(f"{place}.metadata must be an object")
    if isinstance(part.get("text"), str) and "data" not in part:
        return part
    if "data" in part and "text" not in part:
        if _type(part) in _TYPES and not isinstance(part["data"], dict):
            raise Invalid(f"{place}.data must be an object")
        return part
    if not {"text", "data"} & part.keys():
        raise NotTaken(f"{place} has neither text nor data; files are not taken")
    raise Invalid(f"{place} must be either text or data")


def _type(part: Mapping[str, Any]) -> str:
    return str((part.get("metadata") or {}).get("type", ""))


def _is_offer(part: Mapping[str, Any]) -> bool:
    data = part["data"]
    return _type(part) == _OFFER or (isinstance(data, dict) and isinstance(data.get("tools"), list))


def _offer(data: JsonObject, place: str) -> tuple[OfferedTool, ...]:
    listed = data.get("tools")
    if not isinstance(listed, list):
        raise Invalid(f"{place} must be a list")
    if len(listed) > MAX_TOOLS:
        raise Invalid(f"{place} has {len(listed)} tools, {MAX_TOOLS} at most")
    tools = tuple(_tool(each, f"{place}[{number}]") for number, each in enumerate(listed))
    if len({tool.name for tool in tools}) < len(tools):
        raise Invalid(f"{place}: two tools have the same name")
    return tools


def _tool(given: Any, place: str) -> OfferedTool:  # noqa: ANN401 - it is checked here
    function = given.get("function") if isinstance(given, dict) else None
    if not isinstance(function, dict) or given.get("type", "function") != "function":
        raise Invalid(f'{place} must be {{"type": "function", "function": {{…}}}}')
    name, description = function.get("name"), function.get("description", "")
    if not isinstance(name, str) or not 0 < len(name.strip()) <= MAX_NAME or not name.isprintable():
        raise Invalid(f"{place}.function.name must be a text of 1 to {MAX_NAME} characters")
    if not isinstance(description, str) or len(description) > MAX_DESCRIPTION:
        raise Invalid(
            f"{place}.function.description must be a text of at most {MAX_DESCRIPTION} characters"
        )
    parameters = function.get("parameters") or {}
    if not isinstance(parameters, dict) or parameters.get("type", "object") != "object":
        raise Invalid(f"{place}.function.parameters must be the JSON Schema of an object")
    parameters = canonical(parameters)
    size = len(json.dumps(parameters, ensure_ascii=False).encode())
    if size > MAX_SCHEMA_BYTES:
        raise Invalid(f"{place}.function.parameters has {size} bytes, {MAX_SCHEMA_BYTES} at most")
    return OfferedTool(name.strip(), description, parameters)


def _name_alone(tool: OfferedTool) -> JsonObject:
    return {"type": "function", "function": {"name": tool.name}}


def _results(part: Mapping[str, Any], place: str) -> list[Result] | None:
    data = part["data"]
    if not isinstance(data, dict):
        return None
    key = next((key for key in _RESULT_KEYS if key in data), None)
    if key is None:
        if _type(part) in _RESULTS:
            raise Invalid(f"{place}.tool_results is missing")
        return None
    listed = data[key]
    if not isinstance(listed, list):
        raise Invalid(f"{place}.{key} must be a list")
    return [_result(each, f"{place}.{key}[{number}]") for number, each in enumerate(listed)]


def _result(given: Any, place: str) -> Result:  # noqa: ANN401 - it is checked here
    call_id = given.get("tool_call_id") if isinstance(given, dict) else None
    if not isinstance(call_id, str) or not 0 < len(call_id) <= MAX_ID:
        raise Invalid(f"{place}.tool_call_id must be a text of 1 to {MAX_ID} characters")
    status = given.get("status", "success")
    if status not in _STATUSES:
        raise Invalid(f'{place}.status must be "success" or "error"')
    content = whole_numbers(given.get("content"))
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return Result(call_id, text.replace("\0", ""), error=status == "error")


def data_as_text(data: Sequence[Any]) -> str:
    """Return data parts as words for a model."""
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in data)
