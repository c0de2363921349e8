"""Checks arguments by schemas from untrusted authors: devices, servers on the internet.

A JSON Schema can make a check arbitrarily expensive. A regular expression can take exponential time
and cannot be stopped, so patterns are not checked here but left to the tool. A few references can
expand to millions, so their number is bounded in each check. Remote references are not resolved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, cast

# The whole package first. A submodule may be imported while another thread is still inside of the
# package, and then each waits for what the other has half done; Python breaks that with an error.
import jsonschema  # noqa: F401
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, extend, validator_for
from referencing import Registry

from vixio.core.tools.types import JsonObject

MAX_REFERENCES = 200
"""References that one check follows, 0.1 ms each. A schema of one page uses some tens."""

_NO_REMOTE: Registry[Any] = Registry()

_followed: ContextVar[list[int]] = ContextVar("followed")


class SchemaTooCostly(Exception):
    """The check was stopped: the schema is too complex."""


@contextmanager
def bounded() -> Iterator[None]:
    """Bound the work of this module's validators; one block is one check."""
    token = _followed.set([0])
    try:
        yield
    finally:
        _followed.reset(token)


def bounded_validator(schema: JsonObject) -> Validator:
    """Compile ``schema``, which must not be changed afterwards; takes half a millisecond.

    Raises jsonschema.SchemaError if it is not a schema, RecursionError if it is too deep.
    """
    kind = validator_for(schema, default=Draft202012Validator)
    kind.check_schema(schema)
    return cast("Validator", _bounded_kind(kind)(schema, registry=_NO_REMOTE))


@lru_cache(maxsize=32)
def _bounded_kind(kind: Any) -> Any:  # noqa: ANN401 - a class that jsonschema made
    known = kind.VALIDATORS
    ours: dict[str, Any] = {
        "pattern": _unchecked,
        "patternProperties": _unchecked,
        # jsonschema matches the patterns of patternProperties in these too.
        "additionalProperties": _without_patterns(known.get("additionalProperties", _unchecked)),
        "unevaluatedProperties": _unchecked,
    }
    for reference in ("$ref", "$dynamicRef", "$recursiveRef"):
        if reference in known:
            ours[reference] = _counted(known[reference])
    make: Any = extend  # jsonschema has no annotations here
    return make(kind, ours)


def _unchecked(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[Any]:  # noqa: ANN401 - jsonschema's signature
    return ()


def _without_patterns(check: Any) -> Any:  # noqa: ANN401 - a function of jsonschema's signature
    def only_without_patterns(
        validator: Any,  # noqa: ANN401 - jsonschema's signature
        value: Any,  # noqa: ANN401 - the same
        instance: Any,  # noqa: ANN401 - the same
        schema: Any,  # noqa: ANN401 - the same
    ) -> Iterable[Any]:
        if schema.get("patternProperties"):
            return
        yield from check(validator, value, instance, schema) or ()

    return only_without_patterns


def _counted(check: Any) -> Any:  # noqa: ANN401 - a function of jsonschema's signature
    def count(
        validator: Any,  # noqa: ANN401 - jsonschema's signature
        value: Any,  # noqa: ANN401 - the same
        instance: Any,  # noqa: ANN401 - the same
        schema: Any,  # noqa: ANN401 - the same
    ) -> Iterable[Any]:
        followed = _followed.get()
        followed[0] += 1
        if followed[0] > MAX_REFERENCES:
            raise SchemaTooCostly
        yield from check(validator, value, instance, schema) or ()

    return count
