"""Reads the two-level description of tool services.

A service: ``id``, ``request-queue``, ``response-queue``, ``config-params`` (``name``,
``required``). A tool: ``type`` (``tool-service``), ``name``, ``description``, ``service``,
``arguments`` (``name``, ``type``, ``description``), and the parameters that its service declares.
Beside the original, a service may have ``idle-timeout`` and ``consumer-queue``, an argument
``required`` and further words of JSON Schema, and a tool ``parameters`` (a whole JSON Schema
instead of ``arguments``), ``timeout``, ``idempotent``, ``read_only``, ``confirm`` and ``stream``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, Literal

from vixio.bus.queues import canonical
from vixio.core.errors import ToolError
from vixio.core.tools.arguments import prepare
from vixio.core.tools.types import JsonObject, ToolDefinition, ToolOptions
from vixio.tools.bounds import (
    MAX_NAME_CHARS,
    MAX_SCHEMA_CHARS,
    bounded_description,
    bounded_schema,
)

Stream = Literal["result", "say"]

_OF_SERVICE: Final = {
    *("id", "request-queue", "response-queue", "consumer-queue", "config-params", "idle-timeout"),
}
_OF_TOOL: Final = {"type", "name", "description", "service", "arguments"}
_BESIDE: Final = {"parameters", "timeout", "idempotent", "read_only", "confirm", "stream"}

_TYPES: Final = {"int": "integer", "float": "number", "bool": "boolean", "str": "string"}
"""Spellings that are not JSON Schema's."""
_JSON_TYPES: Final = {"string", "number", "integer", "boolean", "array", "object"}

_LONGEST_S: Final = 3_600.0


class DescriptorError(Exception):
    """A mistake in a description: one line that names the key."""


@dataclass(frozen=True, slots=True)
class ServiceDescriptor:
    """The upper level. ``params``: what tools configure → whether they must."""

    id: str
    request_queue: str
    response_queue: str = ""
    params: Mapping[str, bool] = field(default_factory=dict)
    idle_timeout: float | None = None
    consumer_queue: str = ""


@dataclass(frozen=True, slots=True)
class ToolDescriptor:
    """The lower level. ``definition`` has no caller yet."""

    definition: ToolDefinition
    service: str
    config: JsonObject
    stream: Stream = "result"


def read_service(value: Mapping[str, Any]) -> ServiceDescriptor:
    """Return the service that ``value`` describes. Raises DescriptorError."""
    for key in value:
        if key not in _OF_SERVICE:
            raise DescriptorError(f"{key}: there is no such key{_suggest(key, _OF_SERVICE)}")
    return ServiceDescriptor(
        _text(value, "id"),
        _queue(value, "request-queue"),
        _queue(value, "response-queue") if value.get("response-queue") else "",
        _params(value.get("config-params") or []),
        _seconds(value, "idle-timeout"),
        _text(value, "consumer-queue") if value.get("consumer-queue") else "",
    )


def service_id_of(value: Mapping[str, Any]) -> str:
    """Return the id of the service that a tool's description names. Raises DescriptorError."""
    return _text(value, "service")


def read_tool(
    value: Mapping[str, Any], service: ServiceDescriptor, defaults: ToolOptions, retries: int
) -> ToolDescriptor:
    """Return the tool that ``value`` describes. Raises DescriptorError.

    ``retries``: of a tool that is idempotent.
    """
    if value.get("type", "tool-service") != "tool-service":
        raise DescriptorError(f"type: expected tool-service, found {value['type']!r}")
    name = _text(value, "name")
    config = _config(value, service)
    stream = value.get("stream", "result")
    if "stream" not in service.params and stream not in ("result", "say"):
        raise DescriptorError(f"stream: expected result or say, found {stream!r}")
    definition = ToolDefinition(
        name,
        bounded_description(_text(value, "description")),
        _schema(value, service),
        options=_options(value, service, defaults, retries),
    )
    try:
        prepare(definition)
    except ToolError as error:
        raise DescriptorError(str(error)) from error
    return ToolDescriptor(definition, service.id, config, "say" if stream == "say" else "result")


def _config(value: Mapping[str, Any], service: ServiceDescriptor) -> JsonObject:
    """Return what the tool configures. Raises DescriptorError for what is missing or unknown."""
    config: JsonObject = {}
    for key, given in value.items():
        if key in _OF_TOOL:
            continue
        if key in service.params:
            config[key] = given
        elif key not in _BESIDE:
            known = {*service.params, *_OF_TOOL, *_BESIDE}
            raise DescriptorError(
                f"{key}: the service {service.id} has no such parameter{_suggest(key, known)}"
            )
    for key, required in service.params.items():
        if required and config.get(key) is None:
            raise DescriptorError(f"{key}: is required by the service {service.id}")
    return config


def _schema(value: Mapping[str, Any], service: ServiceDescriptor) -> JsonObject:
    whole = None if "parameters" in service.params else value.get("parameters")
    if whole is None:
        whole = _of_arguments(value.get("arguments") or [])
    if not isinstance(whole, Mapping) or whole.get("type", "object") != "object":
        raise DescriptorError("parameters: expected the JSON Schema of an object")
    schema = bounded_schema(whole)
    if schema is None:
        raise DescriptorError(f"parameters: more than {MAX_SCHEMA_CHARS} characters as JSON")
    return schema


def _of_arguments(arguments: Any) -> JsonObject:  # noqa: ANN401 - what somebody has written
    if not isinstance(arguments, list | tuple):
        raise DescriptorError("arguments: expected a list")
    properties: JsonObject = {}
    required: list[str] = []
    for index, argument in enumerate(arguments):
        place = f"arguments[{index}]"
        if not isinstance(argument, Mapping):
            raise DescriptorError(f"{place}: expected a mapping with name, type and description")
        name = argument.get("name")
        if not isinstance(name, str) or not name or name in properties:
            raise DescriptorError(f"{place}.name: expected a name that no other argument has")
        kind = argument.get("type", "string")
        kind = _TYPES.get(kind, kind) if isinstance(kind, str) else kind
        if not isinstance(kind, str) or kind not in _JSON_TYPES:
            expected = ", ".join(sorted(_JSON_TYPES))
            raise DescriptorError(f"{place}.type: expected one of {expected}, found {kind!r}")
        more = {key: word for key, word in argument.items() if key not in ("name", "required")}
        properties[name] = {**more, "type": kind}
        if argument.get("required", "default" not in argument):
            required.append(name)
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def _options(
    value: Mapping[str, Any], service: ServiceDescriptor, defaults: ToolOptions, retries: int
) -> ToolOptions:
    own = {key: given for key, given in value.items() if key not in service.params}
    flags = {}
    for key in ("idempotent", "read_only", "confirm"):
        flags[key] = own.get(key, False)
        if not isinstance(flags[key], bool):
            raise DescriptorError(f"{key}: expected true or false, found {flags[key]!r}")
    repeatable = flags["idempotent"] or flags["read_only"]
    return ToolOptions(
        timeout=_seconds(own, "timeout") or defaults.timeout,
        idempotent=repeatable,
        read_only=flags["read_only"],
        confirm=flags["confirm"],
        retries=retries if repeatable else 0,
    )


def _params(value: Any) -> dict[str, bool]:  # noqa: ANN401 - what somebody has written
    if not isinstance(value, list | tuple):
        raise DescriptorError("config-params: expected a list")
    found: dict[str, bool] = {}
    for index, param in enumerate(value):
        place = f"config-params[{index}]"
        if not isinstance(param, Mapping) or not isinstance(param.get("name"), str):
            raise DescriptorError(f"{place}.name: is required")
        if param["name"] in _OF_TOOL:
            raise DescriptorError(f"{place}.name: {param['name']} is a key of every tool")
        found[param["name"]] = param.get("required") is True
    return found


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text.strip():
        raise DescriptorError(f"{key}: is required")
    if key != "description" and len(text) > MAX_NAME_CHARS:
        raise DescriptorError(f"{key}: has more than {MAX_NAME_CHARS} characters")
    return text


def _queue(value: Mapping[str, Any], key: str) -> str:
    queue = _text(value, key)
    try:
        canonical(queue)
    except ValueError as error:
        raise DescriptorError(f"{key}: {error}") from error
    return queue


def _seconds(value: Mapping[str, Any], key: str) -> float | None:
    seconds = value.get(key)
    if seconds is None:
        return None
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds <= _LONGEST_S:
        raise DescriptorError(f"{key}: expected seconds up to {_LONGEST_S:g}, found {seconds!r}")
    return float(seconds)


def _suggest(key: object, known: set[str]) -> str:
    close = get_close_matches(str(key), known, n=1)  # a key in YAML may be a number
    return f"; did you mean {close[0]}?" if close else ""
