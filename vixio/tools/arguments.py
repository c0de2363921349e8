"""Parses the arguments that a model wrote, and checks them against the tool's schema.

jsonschema is imported with the first schema: 0.1 s, for which the start of a server need not wait.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vixio.core.errors import ToolError
from vixio.core.strict_json import parse_json
from vixio.core.tools.types import JsonObject, ToolDefinition

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_MAX_FAULTS = 3
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

    from vixio.tools.schemas import SchemaTooCostly

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


def read_arguments(tool: ToolDefinition, text: str) -> JsonObject:
    """Return the arguments in the JSON ``text``.

    Raises ToolError with a message by which the model can correct the call.
    """
    validator = prepare(tool)
    try:
        parsed = parse_json(text) if text.strip() else {}
    except ValueError as error:
        message = f"the arguments are not JSON: {error}"
        raise ToolError("invalid_arguments", message, retryable=True) from error
    if parsed is None:
        parsed = {}
    if not isinstance(parsed, dict):
        message = "the arguments must be one JSON object"
        raise ToolError("invalid_arguments", message, retryable=True)
    from referencing.exceptions import Unresolvable

    from vixio.tools.schemas import SchemaTooCostly, bounded

    try:
        with bounded():
            found = list(validator.iter_errors(parsed))
    except Unresolvable as error:
        message = "the tool's schema has an unresolvable reference"
        raise ToolError("failed", message) from error
    except (RecursionError, SchemaTooCostly) as error:
        message = "the tool's schema is too complex to check arguments"
        raise ToolError("failed", message) from error
    if not found:
        return parsed
    faults = sorted(found, key=lambda fault: fault.json_path)
    named = [
        f"{fault.json_path.removeprefix('$').lstrip('.') or 'arguments'}: {fault.message}"
        for fault in faults[:_MAX_FAULTS]
    ]
    raise ToolError("invalid_arguments", "; ".join(named)[:_MAX_MESSAGE], retryable=True)


@lru_cache(maxsize=MAX_SCHEMAS)
def _compile(schema: str) -> Validator:
    from vixio.tools.schemas import bounded_validator

    return bounded_validator(json.loads(schema))
