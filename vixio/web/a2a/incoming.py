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
from uuid import uuid4

from vixio.core.tools.types import JsonObject
from vixio.web.a2a.json_input import Invalid, canonical, whole_numbers
from vixio.web.a2a.results import (
    MAX_RESULTS,
    RESULT_TYPES,
    Result,
    results_in_data,
    results_in_words,
)

EXTENSION: Final = "urn:vixio:a2a:client-tools:v1"

MAX_PARTS: Final = 64
MAX_TEXT: Final = 50_000
"""Characters of a message."""
MAX_TOOLS: Final = 64
MAX_SCHEMA_BYTES: Final = 20_000
"""Of one tool, as JSON."""
MAX_NAME: Final = 200
MAX_DESCRIPTION: Final = 8_000
_OFFER = "tool-definitions"
_TYPES = (_OFFER, *RESULT_TYPES)
_ROLES = ("user", "ROLE_USER")
"""Of a client, in 0.3 and in 1.0."""


class NotTaken(Invalid):
    """The message has content of a kind that is not taken."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the caller runs. ``parameters``: its JSON Schema, in canonical form."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message. ``offer`` None: the tools stay as they are; empty: there are none any more.

    ``data``: data parts that are neither an offer nor results.
    """

    text: str = ""
    offer: tuple[OfferedTool, ...] | None = None
    results: tuple[Result, ...] = ()
    reported: tuple[Result, ...] = ()
    """The results that the text reports, where no data part has any."""
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
        elif (found := results_in_data(kept, _type(kept), f"{place}.data")) is not None:
            results += found
        else:
            data.append(whole_numbers(kept["data"]))
        passed_on.append(kept)
    text = "\n".join(each for each in texts if each.strip()).replace("\0", "")
    if len(text) > MAX_TEXT:
        raise Invalid(f"the message has {len(text)} characters of text, {MAX_TEXT} at most")
    if len(results) > MAX_RESULTS:
        raise Invalid(f"the message has {len(results)} results, {MAX_RESULTS} at most")
    reported = () if results else results_in_words(text)
    incoming = Incoming(text, offer, tuple(results), reported, tuple(data))
    return incoming, {**message, "parts": passed_on}


def completed(message: JsonObject, *, old: bool) -> JsonObject:
    """Return a message with what its client has left out, in the form of 0.3 (``old``) or 1.0.

    The source document's client sends no ``messageId``. Raises Invalid.
    """
    role = message.get("role")
    if role is not None and role not in _ROLES:
        raise Invalid(f"message.role must be {_ROLES[0] if old else _ROLES[1]}")
    message_id = message.get("messageId") or uuid4().hex
    return {**message, "role": _ROLES[0 if old else 1], "messageId": message_id}


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


def data_as_text(data: Sequence[Any]) -> str:
    """Return data parts as words for a model."""
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in data)
