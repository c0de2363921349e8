"""Parses the arguments that a model wrote, and checks them against the tool's schema.

jsonschema is imported with the first schema: 0.1 s, for which the start of a server need not wait.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vixio.core.errors import ToolError
from vixio.core.strict_json import parse_json
from vixio.core.tools.repairs import alike, is_nothing, read_objects, unwrapped
from vixio.core.tools.types import JsonObject, ToolDefinition

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

_MAX_FAULTS = 3
_MAX_ROUNDS = 3
_MAX_MENDED = 32
_QUOTED = 200
_MAX_MESSAGE = 500

MAX_SCHEMAS = 1024
"""Compiled schemas in the cache; devices of one kind share them."""

_known: OrderedDict[int, tuple[Mapping[str, Any], Validator]] = OrderedDict()
"""By the identity of the ``parameters`` object, so that a call serialises no schema."""


def whole_schema(parameters: Mapping[str, Any]) -> JsonObject:
    """Return ``parameters`` as an object schema; all keys are kept."""
    return {"type": "object", "properties": {}, **parameters}


def prepare(tool: ToolDefinition) -> Validator:
    """Return the compiled schema of ``tool``; the first time takes 0.5 ms.

    Raises ToolError if it is not a JSON Schema.
    """
    key = id(tool.parameters)
    known = _known.get(key)
    if known is not None and known[0] is tool.parameters:
        return known[1]
    from jsonschema import SchemaError

    from vixio.core.tools.schemas import SchemaTooCostly

    try:
        validator = _compile(json.dumps(whole_schema(tool.parameters), sort_keys=True))
    except (SchemaError, SchemaTooCostly, TypeError, ValueError, RecursionError) as error:
        reason = error.message if isinstance(error, SchemaError) else str(error)
        message = f"the parameters of {tool.name} are not a JSON Schema: {reason[:200]}"
        raise ToolError("failed", message) from error
    _known[key] = (tool.parameters, validator)
    while len(_known) > MAX_SCHEMAS:
        _known.popitem(last=False)
    return validator


def read_arguments(
    tool: ToolDefinition, text: str, repaired: Callable[[], None] | None = None
) -> JsonObject:
    """Return the arguments in the JSON ``text``, or in one that is a lossless step from it.

    ``repaired`` is called where such a step was needed. Raises ToolError with a message by which
    the model can correct the call.
    """
    validator = prepare(tool)
    try:
        parsed = parse_json(text) if text.strip() else {}
        problem = "the arguments must be one JSON object"
    except (ValueError, RecursionError) as error:
        parsed, problem = text, f"the arguments are not JSON: {error}; they were: {text[:_QUOTED]}"
    arguments = {} if parsed is None or is_nothing(text) else parsed
    if not isinstance(arguments, dict):
        objects = read_objects(text)
        if len(objects) != 1:
            raise ToolError("invalid_arguments", problem, retryable=True)
        arguments = objects[0]
    arguments = unwrapped(arguments, tool.parameters.get("properties") or ())
    arguments = _checked(validator, arguments)
    if repaired is not None and parsed is not None and arguments != parsed:
        repaired()
    return arguments


def fits(tool: ToolDefinition, arguments: JsonObject) -> bool:
    """Whether a call of ``tool`` may have ``arguments``, perhaps after a repair."""
    try:
        read_arguments(tool, json.dumps(arguments))
    except ToolError:
        return False
    return True


def _checked(validator: Validator, arguments: JsonObject) -> JsonObject:
    """Return ``arguments``, or what was meant by them, once they fit the schema."""
    from referencing.exceptions import Unresolvable

    from vixio.core.tools.schemas import SchemaTooCostly, bounded

    try:
        with bounded():
            found = list(validator.iter_errors(arguments))
            if not found:
                return arguments
            meant, faults = deepcopy(arguments), found
            for _ in range(_MAX_ROUNDS):  # within JSON in a string there may be another fault
                if len(faults) > _MAX_MENDED:
                    break
                if not all(_mended(validator, meant, fault) for fault in faults):
                    break
                faults = list(validator.iter_errors(meant))
                if not faults:
                    return meant
    except Unresolvable as error:
        message = "the tool's schema has an unresolvable reference"
        raise ToolError("failed", message) from error
    except (RecursionError, SchemaTooCostly) as error:
        message = "the tool's schema is too complex to check arguments"
        raise ToolError("failed", message) from error
    ranked = sorted(found, key=lambda fault: fault.json_path)
    named = [
        f"{fault.json_path.removeprefix('$').lstrip('.') or 'arguments'}: {fault.message}"
        for fault in ranked[:_MAX_FAULTS]
    ]
    raise ToolError("invalid_arguments", "; ".join(named)[:_MAX_MESSAGE], retryable=True)


def _mended(validator: Validator, arguments: JsonObject, fault: ValidationError) -> bool:
    """Put the value that was meant into the place of ``fault``; return whether there is one."""
    path: list[Any] = list(fault.absolute_path)
    schema: Any = fault.schema
    allowed: Any = fault.validator_value
    if fault.validator == "required":
        return _filled(validator, _at(arguments, path), schema)
    if not path or not isinstance(schema, dict):
        return False
    holder, last = _at(arguments, path[:-1]), path[-1]
    value = holder[last]
    candidates = list(alike(value))
    if fault.validator == "enum":
        said = str(value).strip().casefold()
        near = [each for each in allowed if str(each).casefold() == said]
        candidates += near if len(near) == 1 else []
    fits_there = validator.evolve(schema={fault.validator: allowed})
    meant = [each for each in candidates if fits_there.is_valid(each)]
    if meant:
        holder[last] = meant[0]
    return bool(meant)


def _filled(validator: Validator, holder: Any, schema: JsonObject) -> bool:  # noqa: ANN401 - a part of the arguments
    """Give required properties that are missing the null that they may be.

    Services are not told of null (``service_schema``): a model leaves such a property out.
    """
    for name in schema["required"]:
        if name not in holder:
            declared = (schema.get("properties") or {}).get(name)
            if not declared or not validator.evolve(schema=declared).is_valid(None):
                return False
            holder[name] = None
    return True


def _at(arguments: JsonObject, path: Iterable[Any]) -> Any:  # noqa: ANN401 - any JSON
    part: Any = arguments
    for step in path:
        part = part[step]
    return part


@lru_cache(maxsize=MAX_SCHEMAS)
def _compile(schema: str) -> Validator:
    from vixio.core.tools.schemas import bounded_validator

    return bounded_validator(json.loads(schema))
